"""Recruiters: which parameters of the address say who somebody is, and where people go at the end."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

__all__ = ["RECRUITERS", "Recruiter"]

_PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
_LONGEST = 200  # characters of a recruiter's id


@dataclass(frozen=True)
class Recruiter:
    """Where participants come from.

    Attributes
    ----------
    parameters
        Role -> the name of the parameter in the address. The role ``person`` tells people apart.
    redirect
        Where people are sent at the end; ``{code}`` and the roles in braces are filled in. "" sends nobody.
    frames
        Hosts that may show the page inside their own.

    Examples
    --------
    >>> prolific = RECRUITERS["prolific"]
    >>> prolific.identity({"PROLIFIC_PID": "5f", "utm": "x"})
    {'person': '5f'}
    >>> prolific.way_back("C1", {"person": "5f"})
    'https://app.prolific.com/submissions/complete?cc=C1'
    """

    parameters: Mapping[str, str] = field(default_factory=dict)
    redirect: str = ""
    frames: str = ""

    def identity(self, address: Mapping[str, str]) -> dict[str, str]:
        """What the parameters of the address say about somebody, by role; everything else is ignored."""
        found = {role: address.get(name, "").strip() for role, name in self.parameters.items()}
        return {role: value[:_LONGEST] for role, value in found.items() if value}

    def is_preview(self, address: Mapping[str, str]) -> bool:
        """Whether somebody only looks at what the task is like."""
        return _PREVIEW in self.identity(address).values()

    def way_back(self, code: str, identity: Mapping[str, str]) -> str:
        """The address to go to at the end; "" if there is none, or nothing to say there."""
        if not self.redirect or ("{code}" in self.redirect and not code):
            return ""
        filled = {**dict.fromkeys(self.parameters, ""), **identity, "code": code}
        return re.sub(r"\{(\w+)\}", lambda place: quote(filled.get(place[1], ""), safe=""), self.redirect)


RECRUITERS: Mapping[str, Recruiter] = {
    "none": Recruiter(),
    "prolific": Recruiter(
        {"person": "PROLIFIC_PID", "study": "STUDY_ID", "session": "SESSION_ID"},
        "https://app.prolific.com/submissions/complete?cc={code}",
    ),
    "mturk": Recruiter(
        {"person": "workerId", "assignment": "assignmentId", "task": "hitId"}, frames="https://*.mturk.com"
    ),
    "sona": Recruiter({"person": "survey_code"}),
}
"""The recruiters that are known by name."""
