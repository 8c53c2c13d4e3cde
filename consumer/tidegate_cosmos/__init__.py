"""An Azure Cosmos DB for laptops and tests: what items, leases and the change feed need."""
