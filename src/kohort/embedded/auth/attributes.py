"""Authorization attributes: an action on a resource or on a non-resource path."""

from dataclasses import dataclass

from kohort.embedded.auth.users import User
from kohort.kube.errors import ErrorSubject, StatusError, forbidden


@dataclass(frozen=True, slots=True)
class AuthorizationAttributes:
    """An action on a resource, or on a path if `path` is set."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def resource_with_subresource(self) -> str:
        """Resource with subresource, as in rules: `pods`, `pods/log`."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource

    def denial_message(self, user: User) -> str:
        """The denial in kube-apiserver's words."""
        if self.path:
            return f'User "{user.name}" cannot {self.verb} path "{self.path}"'
        where = f'in the namespace "{self.namespace}"' if self.namespace else "at the cluster scope"
        what = f'resource "{self.resource_with_subresource}" in API group "{self.group}"'
        return f'User "{user.name}" cannot {self.verb} {what} {where}'


def denied(attributes: AuthorizationAttributes, user: User, reason: str = "") -> StatusError:
    """The 403 error of a denied request."""
    denial_message = attributes.denial_message(user) + (f": {reason}" if reason else "")
    if attributes.path:
        return StatusError(403, "Forbidden", f"forbidden: {denial_message}", {})
    return forbidden(ErrorSubject(attributes.resource, attributes.group, attributes.name), denial_message)
