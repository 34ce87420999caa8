"""The manager's role, from what the manager was seen to need.

`python -m envtest.rights` starts a cluster, lets the manager do all that it ever does (`tour`), reads what it asked of the API
server, and writes `config/rbac/role.yaml`, and of it what `config/restricted` grants. A test makes the same tour with only that
role, and finds a rule that is missing or unused.
"""
