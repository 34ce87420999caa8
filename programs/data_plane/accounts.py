"""ServiceAccounts of Pods: a template that names one which is not there makes no Pods, as an API server would refuse them."""

from __future__ import annotations

from typing import Final

from dynamo_ctrl.cache.view import View
from dynamo_ctrl.engine.errors import Forbidden
from dynamo_ctrl.objects.builtin.core import SERVICE_ACCOUNT
from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.program.effect import Refuse

DEFAULT_ACCOUNT: Final = "default"
"""Every namespace of a real cluster has it; here it counts as present."""


def account_of(template: JsonMap) -> str:
    """The ServiceAccount that Pods of a template run under."""
    return (template.get("spec") or {}).get("serviceAccountName") or DEFAULT_ACCOUNT


def missing_account(template: JsonMap, pod: str, namespace: str, view: View) -> Refuse | None:
    """The refusal of an API server to make Pods of a template, named `pod`; `None` if their account is there."""
    account = account_of(template)
    if account == DEFAULT_ACCOUNT or view.get(SERVICE_ACCOUNT, Key(namespace, account)) is not None:
        return None
    text = (
        f'pods "{pod}" is forbidden: error looking up service account {namespace}/{account}:'
        f' serviceaccount "{account}" not found'
    )
    return Refuse(message=text, error=Forbidden(text))
