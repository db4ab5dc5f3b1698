"""What somebody wants to do, as authorization sees it: on a resource, or on a bare path."""

from dataclasses import dataclass

from kohort.embedded.auth.users import User
from kohort.kube.errors import ErrorSubject, StatusError, forbidden


@dataclass(frozen=True, slots=True)
class AuthorizationAttributes:
    """An action on a resource, or on a path when `path` is given."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def combined(self) -> str:
        """`pods`, `pods/log`: as rules spell resources."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource

    def sentence(self, user: User) -> str:
        """Who can't do what, in the words that every kubectl user knows."""
        if self.path:
            return f'User "{user.name}" cannot {self.verb} path "{self.path}"'
        where = f'in the namespace "{self.namespace}"' if self.namespace else "at the cluster scope"
        what = f'resource "{self.combined}" in API group "{self.group}"'
        return f'User "{user.name}" cannot {self.verb} {what} {where}'


def refusal(attributes: AuthorizationAttributes, user: User, reason: str = "") -> StatusError:
    """The 403 of a request that authorization refused."""
    sentence = attributes.sentence(user) + (f": {reason}" if reason else "")
    if attributes.path:
        return StatusError(403, "Forbidden", f"forbidden: {sentence}", {})
    return forbidden(ErrorSubject(attributes.resource, attributes.group, attributes.name), sentence)
