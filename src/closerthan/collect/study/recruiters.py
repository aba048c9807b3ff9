"""Recruiters: the address parameters that identify participants, and the address to which participants return."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

__all__ = ["RECRUITERS", "Recruiter"]

_PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
_LONGEST = 200  # maximum length of a recruiter's id, in characters
# Placeholders that the recruiter should have replaced, such as {{%PROLIFIC_PID%}}, ${e://Field/id}, %CODE%, [id] or ...
_UNFILLED = re.compile(r".*[{}].*|%.*%|\[.*\]|<.*>|[\W_]*|undefined|null|none", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Recruiter:
    """A service that sends participants to the study.

    Attributes
    ----------
    parameters
        The name of the parameter in the address for each role. The role ``person`` identifies the participant.
    redirect
        The address to which participants are sent at the end; ``{code}`` and roles in braces are filled in. If it is
        empty, there is no redirect.
    frames
        Hosts that may embed the page in a frame.

    Examples
    --------
    >>> prolific = RECRUITERS["prolific"]
    >>> prolific.identity({"PROLIFIC_PID": "5f", "utm": "x"})
    {'person': '5f'}
    >>> prolific.missing({"PROLIFIC_PID": "{{%PROLIFIC_PID%}}"}), prolific.missing({"PROLIFIC_PID": "5f"})
    ('PROLIFIC_PID', '')
    >>> prolific.way_back("C1", {"person": "5f"})
    'https://app.prolific.com/submissions/complete?cc=C1'
    """

    parameters: Mapping[str, str] = field(default_factory=dict)
    redirect: str = ""
    frames: str = ""

    def identity(self, address: Mapping[str, str]) -> dict[str, str]:
        """Return the recruiter's parameters in the address by role, without those that are empty."""
        values = {role: address.get(name, "").strip() for role, name in self.parameters.items()}
        return {role: value[:_LONGEST] for role, value in values.items() if value}

    def missing(self, address: Mapping[str, str]) -> str:
        """Return the name of a parameter that is missing, empty or still a placeholder, or "" if there is none.

        The parameter of the role ``person`` is required. Others may be missing, but must not be placeholders.
        """
        for role, name in self.parameters.items():
            value = address.get(name, "").strip()
            texts = (value, unquote(value))  # an address may be encoded twice
            if (role == "person" or value) and any(map(_UNFILLED.fullmatch, texts)):
                return name
        return ""

    def is_preview(self, address: Mapping[str, str]) -> bool:
        """Return whether the task is only being previewed."""
        return _PREVIEW in self.identity(address).values()

    def way_back(self, code: str, identity: Mapping[str, str]) -> str:
        """Return the address to redirect the participant to, or "" if there is none or no completion code."""
        if not self.redirect or ("{code}" in self.redirect and not code):
            return ""
        filled = {**dict.fromkeys(self.parameters, ""), **identity, "code": code}
        return re.sub(r"\{(\w+)\}", lambda match: quote(filled.get(match[1], ""), safe=""), self.redirect)


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
"""The supported recruiters by name."""
