"""Other sites, such as a lab's jsPsych experiment, may use a study's interface only if study.toml lists them."""

import inspect
from collections.abc import Callable, Collection, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

__all__ = ["allow_origins"]

_PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "Authorization, Content-Type",
    "Access-Control-Max-Age": "600",
}


def allow_origins(routes: Sequence[Route], origins: Collection[str]) -> list[Route]:
    """Return routes that also serve pages of these origins, and that answer the preflight requests of browsers."""
    if not origins:
        return list(routes)

    def headers(request: Request) -> dict[str, str]:
        origin = request.headers.get("origin", "")
        return {"Vary": "Origin", **({"Access-Control-Allow-Origin": origin} if origin in origins else {})}

    def opened(endpoint: Callable[[Request], Any]) -> Callable[[Request], Any]:
        async def reply(request: Request) -> Response:
            result = endpoint(request)
            response: Response = await result if inspect.isawaitable(result) else result
            response.headers.update(headers(request))
            return response

        return reply

    async def preflight(request: Request) -> Response:
        allowed = headers(request)
        return Response(status_code=204, headers={**allowed, **(_PREFLIGHT if len(allowed) > 1 else {})})

    paths = dict.fromkeys(route.path for route in routes)
    return [
        *(Route(route.path, opened(route.endpoint), methods=list(route.methods or ())) for route in routes),
        *(Route(path, preflight, methods=["OPTIONS"]) for path in paths),
    ]
