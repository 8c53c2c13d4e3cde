"""Where events come from: one module a kind of source and transport, behind ports.Source."""
