"""`pods/log`: forwards to the log source, which the node agents implement."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from kohort.api.times import TimeError, parse_time
from kohort.embedded.server.requests.request_info import ServerRequest
from kohort.kube.errors import bad_request


@dataclass(frozen=True, slots=True)
class PodLogOptions:
    """Options of a log request."""

    container: str
    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    since_seconds: int | None = None
    since_time: datetime | None = None
    tail_lines: int | None = None
    limit_bytes: int | None = None


class LogSource(Protocol):
    """Source of container output."""

    def open(self, pod: Mapping[str, Any], options: PodLogOptions) -> AsyncIterator[bytes]:
        """Streams the output, when followed until the container ends; raises `StatusError` if there is none."""


async def start_stream(output: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Reads the first chunk, so that an error is found before the response starts with 200."""
    first = await anext(output, b"")

    async def rest() -> AsyncIterator[bytes]:
        try:
            if first:
                yield first
            async for piece in output:
                if piece:
                    yield piece
        finally:
            close = getattr(output, "aclose", None)
            if close is not None:
                await close()

    return rest()


def log_options(request: ServerRequest, pod: Mapping[str, Any]) -> PodLogOptions:
    """Parses the options of a log request; the container may be omitted if the pod has one only."""
    if request.parameter("sinceSeconds") and request.parameter("sinceTime"):
        raise bad_request("at most one of sinceSeconds and sinceTime may be specified")
    return PodLogOptions(
        container=_container(request.parameter("container"), pod),
        follow=request.flag("follow"),
        previous=request.flag("previous"),
        timestamps=request.flag("timestamps"),
        since_seconds=_whole(request, "sinceSeconds", 1),
        since_time=_time(request),
        tail_lines=_whole(request, "tailLines", 0),
        limit_bytes=_whole(request, "limitBytes", 1),
    )


def _container(wanted: str, pod: Mapping[str, Any]) -> str:
    spec, name = pod["spec"], pod["metadata"]["name"]
    main = [each["name"] for each in spec.get("containers") or ()]
    known = [*main, *(each["name"] for each in spec.get("initContainers") or ())]
    if wanted:
        if wanted not in known:
            raise bad_request(f"container {wanted} is not valid for pod {name}")
        return wanted
    chosen = (pod["metadata"].get("annotations") or {}).get("kubectl.kubernetes.io/default-container")
    if chosen in known:
        return str(chosen)
    if len(main) != 1:
        raise bad_request(f"a container name must be specified for pod {name}, choose one of: [{' '.join(main)}]")
    return str(main[0])


def _whole(request: ServerRequest, name: str, least: int) -> int | None:
    text = request.parameter(name)
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 18 or int(text) < least:
        raise bad_request(f'{name}: Invalid value: "{text[:64]}": must be greater than or equal to {least}')
    return int(text)


def _time(request: ServerRequest) -> datetime | None:
    text = request.parameter("sinceTime")
    try:
        return parse_time(text) if text else None
    except TimeError as error:
        raise bad_request(f"sinceTime: {error}") from None
