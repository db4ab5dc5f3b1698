"""The proxy for a server: from the kubeconfig, or from the environment as Go programs read it."""

from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

from kohort.kube.errors import ConfigError


def proxy_for(server: str, configured: str, environment: Mapping[str, str]) -> str:
    """The URL of the proxy, empty for a direct connection; raises ConfigError for unsupported schemes."""
    proxy = configured or _from_environment(server, environment)
    if proxy and urlsplit(proxy).scheme not in ("http", "https"):
        scheme = urlsplit(proxy).scheme or "no scheme"
        raise ConfigError(f"unsupported proxy scheme {scheme}: use http:// or https://")
    return proxy


def _from_environment(server: str, environment: Mapping[str, str]) -> str:
    target = urlsplit(server)
    name = f"{target.scheme}_proxy"
    proxy = environment.get(name.upper()) or environment.get(name) or ""
    direct = environment.get("NO_PROXY") or environment.get("no_proxy") or ""
    host = target.hostname or ""
    if not proxy or _is_loopback(host) or any(_matches(host, rule.strip()) for rule in direct.split(",")):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _matches(host: str, rule: str) -> bool:
    """Whether a rule of NO_PROXY covers the host: `*`, a network, an address, or a domain and its subdomains."""
    if rule == "*":
        return True
    rule = rule.lower().removeprefix("*").partition(":")[0] if rule.count(":") < 2 else rule
    if not rule:
        return False
    try:
        return ip_address(host) in ip_network(rule, strict=False)
    except ValueError:
        domain = rule.lstrip(".")
        return host.endswith(f".{domain}") or (host == domain and not rule.startswith("."))
