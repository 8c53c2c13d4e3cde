"""What the API server itself refuses of `source.cosmos`, and what it says then.

Rules: pure; see spec_rules.py. Where reading begins has no type there, so that no rule can be about
it: the typed settings refuse what does not go with the mode.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.group_file.spec import CosmosLedgerSpec, CosmosLetters, CosmosSpec
from tidegate_operator.spec_rule import (
    ABOVE_0,
    ANOTHER_GROUP,
    WHOLE_ABOVE_0,
    Rule,
    Schema,
    bounded_text,
    stays,
)

# What the service allows in names.
_NAME = r"^[^/\\?#]*[^/\\?# ]$"
_URL = Rule(
    "self.matches('^https?://[^/?#]')",
    "write a URL such as https://NAME.documents.azure.com",
)

COSMOS_BOUNDS: Mapping[tuple[type[Any], str], Schema] = {
    (CosmosSpec, "database"): bounded_text(
        255, stays(f"the database {ANOTHER_GROUP}"), pattern=_NAME
    ),
    (CosmosSpec, "container"): bounded_text(
        255, stays(f"the container {ANOTHER_GROUP}"), pattern=_NAME
    ),
    (CosmosSpec, "endpoint"): bounded_text(1024, _URL, stays(f"the account {ANOTHER_GROUP}")),
    (CosmosSpec, "poll_s"): {**ABOVE_0, "maximum": 3600},
    (CosmosSpec, "page_items"): {**WHOLE_ABOVE_0, "maximum": 100_000},
    (CosmosSpec, "request_units_per_second"): ABOVE_0,
    (CosmosLedgerSpec, "database"): bounded_text(
        255, stays(f"the ledger's database {ANOTHER_GROUP}"), pattern=_NAME
    ),
    (CosmosLedgerSpec, "container"): bounded_text(
        255, stays(f"the ledger's container {ANOTHER_GROUP}"), pattern=_NAME
    ),
    (CosmosLedgerSpec, "endpoint"): bounded_text(
        1024, _URL, stays(f"the ledger's account {ANOTHER_GROUP}")
    ),
    (CosmosLedgerSpec, "prefix"): bounded_text(255, stays(f"the ledger's prefix {ANOTHER_GROUP}")),
    (CosmosLedgerSpec, "host_expiry_s"): {**ABOVE_0, "maximum": 3600},
    (CosmosLetters, "database"): bounded_text(255, pattern=_NAME),
    (CosmosLetters, "container"): bounded_text(255, pattern=_NAME),
    (CosmosLetters, "endpoint"): bounded_text(1024, _URL),
}

COSMOS_RULES: Mapping[type[Any], tuple[Rule, ...]] = {
    CosmosSpec: (
        Rule(
            "has(self.connectionString) != has(self.endpoint)",
            "write either connectionString: {secret: NAME, key: KEY} or endpoint: "
            "https://NAME.documents.azure.com",
        ),
        Rule(
            "!has(self.connectionString) || !has(self.accountKey)",
            "accountKey goes with endpoint: a connectionString has its own",
        ),
    ),
    CosmosLedgerSpec: (
        Rule(
            "has(self.connectionString) != has(self.endpoint)",
            "write either connectionString: {secret: NAME, key: KEY} or endpoint: "
            "https://NAME.documents.azure.com",
        ),
        Rule(
            "!has(self.connectionString) || !has(self.accountKey)",
            "accountKey goes with endpoint: a connectionString has its own",
        ),
        Rule(
            "!has(self.prefix) || has(self.dialect)",
            "prefix goes with dialect: it names the processor to share with",
        ),
    ),
    CosmosLetters: (
        Rule(
            "!(has(self.connectionString) && has(self.endpoint))",
            "write either connectionString or endpoint",
        ),
    ),
}
