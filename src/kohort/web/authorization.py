"""Authentication and authorization of requests by the API server, and errors as Kubernetes Status objects."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web

from kohort.kube.access_reviews import AccessAttributes, AccessReviewer, AuthenticatedUser
from kohort.kube.errors import StatusError
from kohort.web.front_proxy import NO_PROXY, FrontProxyVerifier

log = logging.getLogger(__name__)

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Admit = Callable[[web.Request, AccessAttributes], Awaitable[None]]
"""Raises a StatusError if the request is not authorized."""


async def allow_all(_request: web.Request, _act: AccessAttributes) -> None:
    """Authorize every request."""


def no_front_proxy() -> FrontProxyVerifier:
    """For servers without a front proxy."""
    return NO_PROXY


@dataclass(frozen=True, slots=True)
class AuthorizationFilter:
    """Admits requests that the API server authorizes."""

    reviews: AccessReviewer
    proxy: Callable[[], FrontProxyVerifier] = no_front_proxy

    async def admit(self, request: web.Request, act: AccessAttributes) -> None:
        """Raise a 401 or 403 unless the user is authorized (API-104)."""
        user = await self._user(request)
        if not await self.reviews.allows(user, act):
            raise StatusError(403, "Forbidden", f'User "{user.name}" cannot {act}')

    async def _user(self, request: web.Request) -> AuthenticatedUser:
        user = self._user_by_front_proxy(request) or await self._user_by_token(request)
        if user is None:
            raise StatusError(401, "Unauthorized", "Unauthorized")
        return user

    def _user_by_front_proxy(self, request: web.Request) -> AuthenticatedUser | None:
        """The user from the front proxy's headers, which are trusted only with the proxy's client certificate."""
        connection = request.transport.get_extra_info("ssl_object") if request.transport else None
        certificate = connection.getpeercert(binary_form=True) if connection else None
        proxy = self.proxy()
        return proxy.user_in(request.headers) if certificate and proxy.trusts(certificate) else None

    async def _user_by_token(self, request: web.Request) -> AuthenticatedUser | None:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            return None
        return await self.reviews.user_of(token.strip())


@web.middleware
async def errors_as_status(request: web.Request, handler: _Handler) -> web.StreamResponse:
    """Return every error as a Kubernetes Status; unexpected ones are logged and hide details from the client."""
    try:
        return await handler(request)
    except StatusError as error:
        return _status(error)
    except web.HTTPMethodNotAllowed:
        return _status(StatusError(405, "MethodNotAllowed", f"{request.method} is not supported at {request.path}"))
    except web.HTTPNotFound:
        return _status(StatusError(404, "NotFound", "the server could not find the requested resource"))
    except web.HTTPException as error:
        return _status(StatusError(error.status, error.reason.replace(" ", ""), error.reason))
    except ConnectionError:
        # The client closed the connection; no response can be delivered.
        return _status(StatusError(499, "ClientClosedRequest", "the client closed the connection"))
    except Exception:
        log.exception("%s %s failed", request.method, request.path)
        return _status(StatusError(500, "InternalError", "internal server error, see the server's log"))


def _status(error: StatusError) -> web.Response:
    return web.json_response(error.to_status(), status=error.code)
