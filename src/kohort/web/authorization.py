"""The gate of our own servers: finds out who asks, asks whether he may, and answers errors in Kubernetes' shape."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web

from kohort.kube.errors import StatusError
from kohort.kube.reviews import Act, Reviews, User
from kohort.web.front_proxy import NO_PROXY, FrontProxyVerifier

log = logging.getLogger(__name__)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Admit = Callable[[web.Request, Act], Awaitable[None]]
"""Raises a StatusError where somebody may not do what he asks for."""


async def allow_all(_request: web.Request, _act: Act) -> None:
    """For a server that tells all who can reach it."""


def no_front_proxy() -> FrontProxyVerifier:
    """For servers that no front proxy stands before."""
    return NO_PROXY


@dataclass(frozen=True, slots=True)
class AuthorizationFilter:
    """Lets those pass whom the API server lets."""

    reviews: Reviews
    proxy: Callable[[], FrontProxyVerifier] = no_front_proxy

    async def admit(self, request: web.Request, act: Act) -> None:
        """Raise a 401 or 403 unless whoever asks may do that (API-104)."""
        user = await self._user(request)
        if not await self.reviews.allows(user, act):
            raise StatusError(403, "Forbidden", f'User "{user.name}" cannot {act}')

    async def _user(self, request: web.Request) -> User:
        user = self._behind_proxy(request) or await self._by_token(request)
        if user is None:
            raise StatusError(401, "Unauthorized", "Unauthorized")
        return user

    def _behind_proxy(self, request: web.Request) -> User | None:
        """Headers of the front proxy count only behind its certificate: anybody can write headers."""
        connection = request.transport.get_extra_info("ssl_object") if request.transport else None
        certificate = connection.getpeercert(binary_form=True) if connection else None
        proxy = self.proxy()
        return proxy.user_in(request.headers) if certificate and proxy.trusts(certificate) else None

    async def _by_token(self, request: web.Request) -> User | None:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            return None
        return await self.reviews.user_of(token.strip())


@web.middleware
async def errors_as_status(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer every error as a Kubernetes Status; what nobody foresaw is logged and tells the client no details."""
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
        # Whoever asked has gone; nobody is there to read what is said now.
        return _status(StatusError(499, "ClientClosedRequest", "the client has gone"))
    except Exception:
        log.exception("%s %s failed", request.method, request.path)
        return _status(StatusError(500, "InternalError", "an error of the server's; its log has the rest"))


def _status(error: StatusError) -> web.Response:
    return web.json_response(error.to_status(), status=error.code)
