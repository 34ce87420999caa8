"""Named stories about one Deployment, told twice: to the simulated data plane and to the real controllers.

A story is a list of acts (`catalogue.py`). After each act everything is left to come to rest, and what is seen then is written
down (`observed.py`). Between two acts nothing depends on who was faster, so the two sequences must be equal, entry by entry.
What is seen on the way there (every status that was ever written) depends on timing; of these only the rules are checked that
must hold at every moment.
"""
