"""Which account of Cosmos DB, and who may use it: alike for a source and for a ledger.

Rules: a connection string says both; an endpoint says where, and is for the identity of the machine
unless a key is given. The texts are of docs/settings.md.
"""

from __future__ import annotations

from tidegate.settings import SettingsError

# What is said of the fields that say it.
CONNECTION_STRING = {
    "help": "Where the account's connection string is: `AccountEndpoint=https://…;AccountKey=…;`."
}
ENDPOINT = {
    "help": "https://NAME.documents.azure.com, with the identity of the machine unless a key is "
    "given. Instead of a connection string."
}
ACCOUNT_KEY = {"help": "Where the account's key is; with `endpoint`."}


def check_account(connection_string: object, endpoint: object, account_key: object) -> None:
    """Whether one of the ways in is said, and one alone. Raises SettingsError."""
    if (connection_string is None) == (endpoint is None):
        raise SettingsError("write either connectionString or endpoint")
    if account_key is not None and endpoint is None:
        raise SettingsError("accountKey goes with endpoint: a connectionString has its own")
