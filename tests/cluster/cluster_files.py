"""The directory of one cluster: certificates, keys and kubeconfigs, written before any component starts."""

from dataclasses import dataclass
from pathlib import Path

from cluster.access import Access, write_secret
from kit.pki import KeyPair, ThrowawayCa, key_pem, new_key
from kit.ports import LOOPBACK

ADMIN = "admin"
ADMINS = "system:masters"
CONTROLLER_MANAGER = "system:kube-controller-manager"
SCHEDULER = "system:kube-scheduler"
FRONT_PROXY = "front-proxy-client"
NODE_CLIENT = "kube-apiserver-kubelet-client"
"""The user as which the API server requests logs from nodes."""

_SERVER_NAMES = (LOOPBACK, "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "10.0.0.1")


@dataclass(frozen=True, slots=True)
class ClusterPorts:
    """Where the programs listen, all on loopback."""

    api_server: int
    controller_manager: int
    scheduler: int


@dataclass(frozen=True, slots=True)
class ClusterFiles:
    """The folder, the authority that signs for it, and the ports."""

    folder: Path
    authority: ThrowawayCa
    ports: ClusterPorts

    @property
    def logs(self) -> Path:
        """The output of the programs."""
        return self.folder / "logs"

    @property
    def etcd_socket(self) -> Path:
        """A socket in our own folder: no other user can reach it, so it needs neither port nor certificate."""
        return self.folder / "etcd.sock"

    def access(self, user: str, groups: tuple[str, ...] = ()) -> Access:
        """A user with a certificate of this cluster's authority."""
        address = f"{LOOPBACK}:{self.ports.api_server}"
        return Access(address, self.authority.certificate_pem, self.authority.client(user, groups))

    def kubeconfig(self, user: str) -> Path:
        """Where the kubeconfig of a user is."""
        return self.folder / f"{user.replace(':', '-')}.kubeconfig"

    def certificate(self, name: str) -> Path:
        """Where a certificate is."""
        return self.folder / f"{name}.crt"

    def key(self, name: str) -> Path:
        """Where a key is."""
        return self.folder / f"{name}.key"

    def write_all(self) -> None:
        """Write every certificate, key and kubeconfig that the programs read."""
        self.logs.mkdir()
        front_proxy = ThrowawayCa.create("front-proxy")
        self._write("ca", self.authority.pair)
        self._write("serving", self.authority.server(*_SERVER_NAMES))
        self._write("front-proxy-ca", front_proxy.pair)
        self._write(FRONT_PROXY, front_proxy.client(FRONT_PROXY))
        self._write(NODE_CLIENT, self.authority.client(NODE_CLIENT, (ADMINS,)))
        write_secret(self.key("service-accounts"), key_pem(new_key()))
        for user, groups in ((ADMIN, (ADMINS,)), (CONTROLLER_MANAGER, ()), (SCHEDULER, ())):
            self.access(user, groups).write(self.kubeconfig(user))

    def _write(self, name: str, pair: KeyPair) -> None:
        write_secret(self.certificate(name), pair.certificate)
        write_secret(self.key(name), pair.key)
