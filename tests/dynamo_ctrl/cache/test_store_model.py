"""The store against a model that does everything by brute force: a dictionary, and scans of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.cache.replacement import Staging
from dynamo_ctrl.cache.store import Store
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, ConfigMap
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.selector import LabelSelector

NAMES = st.sampled_from("abcdef")
NAMESPACES = st.sampled_from(["n1", "n2"])
LABELS = st.dictionaries(st.sampled_from(["app", "tier", "x/y"]), st.sampled_from(["1", "2", "3"]), max_size=3)
OWNERS = st.sampled_from(["", "o1", "o2"])
DATA = st.dictionaries(st.sampled_from(["k", "l"]), st.sampled_from(["v", "w", "boom"]), max_size=2)
UIDS = st.sampled_from(["u1", "u2"])

SELECTORS = [
    "app=1", "app!=1", "app in (1,2)", "app notin (1,3)", "app", "!app", "app=1,tier=2", "app=2,tier", "x/y in (1),!tier",
    "app in (1,2),tier notin (2),x/y", "!app,!tier", "tier=3,app!=2", "app=9", "",
]  # fmt: skip


def values(obj: ConfigMap) -> list[str]:
    if "boom" in obj.data.values():
        raise ValueError("boom")
    return [*obj.data.values(), *obj.data.values()]


BY_DATA = Index("data", CONFIG_MAP, values)
BY_TIER = Index("tier", CONFIG_MAP, lambda obj: [obj.metadata.labels.get("tier", "none")])

Content = dict[Key, ConfigMap]


def selected(content: Content, text: str, namespace: str = "") -> list[ConfigMap]:
    selector = LabelSelector.parse(text)
    return [
        obj
        for key, obj in sorted(content.items())
        if selector.matches(obj.metadata.labels) and (not namespace or key.namespace == namespace)
    ]


def extracted(content: Content, index: Index[ConfigMap], value: str) -> list[ConfigMap]:
    found = []
    for _, obj in sorted(content.items()):
        try:
            if value in index.values(obj):
                found.append(obj)
        except ValueError:
            pass
    return found


@dataclass
class Own:
    """An own write, in the model."""

    obj: ConfigMap | None
    uid: str
    version: int  # 0: a deletion
    turn: int


class StoreMachine(RuleBasedStateMachine):
    """Events, replacements, indexes and own writes, in any order; every read agrees with a scan after each step.

    Own writes are of the future: events that are older than they come in between.
    """

    def __init__(self) -> None:
        super().__init__()
        self.told: Content = {}
        self.own: dict[Key, Own] = {}
        self.subscriber: Content = {}
        self.version = self.turn = 0
        self.staged: dict[str, tuple[Staging[ConfigMap], Content]] = {}
        self.begun: dict[str, int] = {}
        self.indexes: list[Index[ConfigMap]] = []

    @initialize(scoped=st.booleans())
    def begin(self, scoped: bool) -> None:
        self.scopes = ["n2", "n1"] if scoped else [""]
        self.store: Store[ConfigMap] = Store(self.scopes)

    def scope(self, namespace: str) -> str:
        return "" if self.scopes == [""] else namespace

    @property
    def seen(self) -> Content:
        """What a reader sees."""
        content = dict(self.told)
        for key, own in self.own.items():
            content.pop(key, None)
            if own.obj is not None:
                content[key] = own.obj
        return content

    def make(
        self, namespace: str, name: str, uid: str, labels: Any, owner: str, data: Any, ahead: int = 0
    ) -> ConfigMap:
        if not ahead:
            self.version += 1
        metadata = {"namespace": namespace, "name": name, "uid": uid, "labels": labels}
        metadata["resourceVersion"] = str(self.version + ahead)
        if owner:
            reference = {"apiVersion": "v1", "kind": "X", "name": owner, "uid": owner, "controller": True}
            metadata["ownerReferences"] = [reference]
        return CONFIG_MAP.object({"metadata": metadata, "data": data})

    def tell(self, changes: Any) -> None:
        """A subscriber that applies changes has what the server told, and the old side is always what it had."""
        for change in changes:
            assert isinstance(change, Change)
            key = change.key
            known = self.subscriber.get(key)
            if change.new is None:
                assert known is not None
                assert change.old is not None
                assert known.metadata.uid == change.old.metadata.uid
                del self.subscriber[key]
            else:
                assert change.old is known
                assert known is None or known.metadata.uid == change.new.metadata.uid
                self.subscriber[key] = change.new

    # --- the server tells

    @rule(namespace=NAMESPACES, name=NAMES, uid=UIDS, labels=LABELS, owner=OWNERS, data=DATA)
    def put(self, **fields: Any) -> None:
        if self.scope(fields["namespace"]) in self.staged:
            return
        obj = self.make(**fields)
        key, own = obj.key, self.own.get(obj.key)
        if own is not None and own.version == self.version and own.obj is not None:
            self.tell(self.store.put(self.scope(key.namespace), CONFIG_MAP.decode(own.obj.raw)))
            self.told[key] = own.obj
            del self.own[key]
            return
        self.told[key] = obj
        if own is not None and (self.version >= own.version if own.version else obj.metadata.uid != own.uid):
            del self.own[key]
        self.tell(self.store.put(self.scope(key.namespace), obj))

    @rule(namespace=NAMESPACES, name=NAMES)
    def put_the_same_state_again(self, namespace: str, name: str) -> None:
        known = self.told.get(Key(namespace, name))
        if known is not None:
            assert self.store.put(self.scope(namespace), CONFIG_MAP.decode(known.raw)) == ()

    @rule(namespace=NAMESPACES, name=NAMES)
    def remove(self, namespace: str, name: str) -> None:
        if self.scope(namespace) in self.staged:
            return
        key = Key(namespace, name)
        known = self.told.pop(key, None)
        last = None
        if known is not None:
            self.version += 1
            content = known.content()
            content["metadata"]["resourceVersion"] = str(self.version)
            last = CONFIG_MAP.object(content)
        own = self.own.get(key)
        if own is not None and (not own.version or last is None or self.version >= own.version):
            del self.own[key]
        changes = self.store.remove(self.scope(namespace), key, last)
        assert len(changes) == (known is not None)
        self.tell(changes)

    @rule(namespace=NAMESPACES)
    def bookmark(self, namespace: str) -> None:
        scope = self.scope(namespace)
        if scope not in self.staged:
            self.sweep(scope, self.version)
            self.store.reached(scope, str(self.version))

    def sweep(self, scope: str, version: int) -> None:
        for key, own in list(self.own.items()):
            if scope in ("", key.namespace):
                told = self.told.get(key)
                if own.version <= version if own.version else told is None or told.metadata.uid != own.uid:
                    del self.own[key]

    # --- replacements

    @rule(namespace=NAMESPACES)
    def stage(self, namespace: str) -> None:
        scope = self.scope(namespace)
        self.staged[scope] = (self.store.stage(scope), {})
        self.begun[scope] = self.store.own.turn
        assert self.turn == self.store.own.turn

    @rule(keep=st.booleans(), namespace=NAMESPACES, name=NAMES, uid=UIDS, labels=LABELS, owner=OWNERS, data=DATA)
    def lay_aside(self, keep: bool, **fields: Any) -> None:
        found = self.staged.get(self.scope(fields["namespace"]))
        if found is None:
            return
        staging, content = found
        known = self.told.get(Key(fields["namespace"], fields["name"]))
        obj = CONFIG_MAP.decode(known.raw) if keep and known is not None else self.make(**fields)
        staging.add(obj)
        content[obj.key] = known if keep and known is not None else obj

    @rule(namespace=NAMESPACES, name=NAMES)
    def drop_what_was_laid_aside(self, namespace: str, name: str) -> None:
        found = self.staged.get(self.scope(namespace))
        if found is not None:
            found[0].drop((namespace, name))
            found[1].pop(Key(namespace, name), None)

    @rule(namespace=NAMESPACES, consistent=st.booleans())
    def replace(self, namespace: str, consistent: bool) -> None:
        scope = self.scope(namespace)
        if scope not in self.staged:
            return
        staging, content = self.staged.pop(scope)
        since = self.begun[scope] if consistent else -1
        made = {key: own.obj for key, own in self.own.items() if own.obj is not None and key not in self.told}
        self.store.replace(staging, str(self.version), since=since)
        self.told = {key: obj for key, obj in self.told.items() if scope not in ("", key.namespace)} | content
        for key, own in list(self.own.items()):
            if own.turn <= since and scope in ("", key.namespace):
                del self.own[key]
        self.sweep(scope, self.version)
        self.reads_agree_with_scans()
        changes = [change for batch in staging.changes() for change in batch]
        shapes = [(change.old is not None, change.new is not None) for change in changes]
        assert shapes == sorted(shapes, key=[(True, False), (True, True), (False, True)].index), "R 3.3: the order"
        gone = {key: obj for key, obj in made.items() if key not in self.own and key not in self.told}
        ends = {change.key: change.old for change in changes if change.key in gone}
        assert ends == gone, "what we made and the server never told of is gone"
        self.tell(change for change in changes if change.key not in gone)
        for _ in staging.release():
            pass
        assert self.store.version(namespace) == str(self.version)

    # --- indexes

    @rule(index=st.sampled_from([BY_DATA, BY_TIER]))
    def add_index(self, index: Index[ConfigMap]) -> None:
        for _ in self.store.add_index(index):
            pass
        if index not in self.indexes:
            self.indexes.append(index)

    @rule(index=st.sampled_from([BY_DATA, BY_TIER]))
    def drop_index(self, index: Index[ConfigMap]) -> None:
        if index in self.indexes:
            self.indexes.remove(index)
            for _ in self.store.drop_index(index.name):
                pass

    # --- we write

    @rule(
        ahead=st.integers(1, 30), selected=st.booleans(),
        namespace=NAMESPACES, name=NAMES, uid=UIDS, labels=LABELS, owner=OWNERS, data=DATA,
    )  # fmt: skip
    def write(self, ahead: int, selected: bool, **fields: Any) -> None:
        obj = self.make(**fields, ahead=ahead)
        key, version = obj.key, self.version + ahead
        own, told = self.own.get(key), self.told.get(key)
        self.store.wrote(obj, selected=selected)
        if own is not None and own.version >= version:
            return
        if selected or own is not None or told is not None:
            self.turn += 1
        if selected:
            self.own[key] = Own(obj, obj.metadata.uid, version, self.turn)
        elif own is not None or told is not None:
            self.own[key] = Own(None, obj.metadata.uid, version, self.turn)

    @rule(namespace=NAMESPACES, name=NAMES)
    def delete(self, namespace: str, name: str) -> None:
        key = Key(namespace, name)
        seen = self.seen.get(key)
        if seen is not None:
            self.turn += 1
            self.own[key] = Own(None, seen.metadata.uid, 0, self.turn)
            self.store.deleted(key, seen.metadata.uid)

    # --- what must always hold

    @invariant()
    def reads_agree_with_scans(self) -> None:
        if not hasattr(self, "store"):
            return
        model = self.seen
        ordered = [obj for _, obj in sorted(model.items())]
        assert list(self.store.list()) == ordered
        assert len(self.store) == len(model)
        assert len(self.store.own) == len(self.own)
        assert self.store.bytes == sum(len(obj.raw) for obj in ordered)
        for namespace in ("n1", "n2"):
            assert list(self.store.list(namespace)) == [obj for obj in ordered if obj.key.namespace == namespace]
            for name in "abcdef":
                assert self.store.get((namespace, name)) is model.get(Key(namespace, name))
        for text in SELECTORS:
            selector = LabelSelector.parse(text)
            assert list(self.store.select(selector)) == selected(model, text), text
            assert list(self.store.select(selector, "n1")) == selected(model, text, "n1"), text
        for labels in ({"app": "1"}, {"app": "2", "tier": "1"}, {"app": "1", "tier": "3", "x/y": "1"}, {"app": "9"}):
            text = ",".join(f"{key}={value}" for key, value in labels.items())
            assert list(self.store.having(labels)) == selected(model, text)
            assert list(self.store.having(labels, "n2")) == selected(model, text, "n2")
        for uid in ("o1", "o2", "nobody"):
            owned = [obj for obj in ordered if obj.metadata.controller and obj.metadata.controller.uid == uid]
            assert list(self.store.owned(uid)) == owned
        for index in self.indexes:
            for value in ("v", "w", "boom", "1", "2", "3", "none"):
                assert list(self.store.by_index(index.name, value)) == extracted(model, index, value)

    @invariant()
    def changes_alone_give_what_the_server_told(self) -> None:
        assert self.subscriber.keys() == self.told.keys()
        for key, obj in self.told.items():
            assert self.subscriber[key] is obj
        if hasattr(self, "store"):
            assert {obj.key: obj for obj in self.store.told()} == self.told


StoreMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=50, deadline=None)
TestStore = StoreMachine.TestCase
