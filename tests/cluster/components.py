"""The command lines of the four programs that make a control plane.

Defaults stay as they are wherever the thing would be the same in production: RBAC, admission plugins, controllers.
"""

from pathlib import Path

from cluster.cluster_files import CONTROLLER_MANAGER, FRONT_PROXY, NODE_CLIENT, SCHEDULER, ClusterFiles
from kit.ports import LOOPBACK

Flags = dict[str, object]


def command(program: Path, flags: Flags) -> list[str]:
    """A command line."""
    return [str(program), *(f"--{name}={value}" for name, value in flags.items())]


def etcd(site: ClusterFiles) -> Flags:
    """One member with its data in memory: nothing has to survive."""
    client, server = f"unix://{site.etcd_socket}", f"unix://{site.folder / 'etcd-peer.sock'}"
    return {
        "name": "kohort-test",
        "data-dir": site.folder / "etcd",
        "listen-client-urls": client,
        "advertise-client-urls": client,
        "listen-peer-urls": server,
        "initial-advertise-peer-urls": server,
        "initial-cluster": f"kohort-test={server}",
        "unsafe-no-fsync": "true",
        "log-level": "warn",
    }


def api_server(site: ClusterFiles) -> Flags:
    """TLS, client certificates, service account tokens, RBAC, and the authentication of aggregated servers."""
    return {
        "etcd-servers": f"unix://{site.etcd_socket}",
        **_serving(site, site.ports.api_server),
        "advertise-address": LOOPBACK,
        "endpoint-reconciler-type": "none",
        "client-ca-file": site.certificate("ca"),
        "authorization-mode": "Node,RBAC",
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": site.key("service-accounts"),
        "service-account-signing-key-file": site.key("service-accounts"),
        "service-cluster-ip-range": "10.0.0.0/24",
        "requestheader-client-ca-file": site.certificate("front-proxy-ca"),
        "requestheader-allowed-names": FRONT_PROXY,
        "requestheader-username-headers": "X-Remote-User",
        "requestheader-group-headers": "X-Remote-Group",
        "requestheader-extra-headers-prefix": "X-Remote-Extra-",
        "proxy-client-cert-file": site.certificate(FRONT_PROXY),
        "proxy-client-key-file": site.key(FRONT_PROXY),
        "kubelet-client-certificate": site.certificate(NODE_CLIENT),
        "kubelet-client-key": site.key(NODE_CLIENT),
        "allow-privileged": "true",
    }


def controller_manager(site: ClusterFiles) -> Flags:
    """Every controller that is on by default, each with its own service account."""
    return {
        **_client(site.kubeconfig(CONTROLLER_MANAGER)),
        **_serving(site, site.ports.controller_manager),
        "use-service-account-credentials": "true",
        "service-account-private-key-file": site.key("service-accounts"),
        "root-ca-file": site.certificate("ca"),
        "cluster-signing-cert-file": site.certificate("ca"),
        "cluster-signing-key-file": site.key("ca"),
    }


def scheduler(site: ClusterFiles) -> Flags:
    """The default profile."""
    return {**_client(site.kubeconfig(SCHEDULER)), **_serving(site, site.ports.scheduler)}


def _serving(site: ClusterFiles, port: int) -> Flags:
    return {
        "bind-address": LOOPBACK,
        "secure-port": port,
        "permit-port-sharing": "true",
        "tls-cert-file": site.certificate("serving"),
        "tls-private-key-file": site.key("serving"),
        "profiling": "false",
    }


def _client(kubeconfig: Path) -> Flags:
    """One instance needs no election; authorization of the metrics endpoint by the API server stays on."""
    return {
        "kubeconfig": kubeconfig,
        "authentication-kubeconfig": kubeconfig,
        "authorization-kubeconfig": kubeconfig,
        "leader-elect": "false",
    }
