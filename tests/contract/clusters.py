"""The base of every test here: a cluster in memory and a real broker, with the same methods."""

from tests.contract.inmemory import InMemory, MemberInMemory
from tests.contract.onbroker import OnBroker, RealMember

Cluster = InMemory | OnBroker
Member = MemberInMemory | RealMember
