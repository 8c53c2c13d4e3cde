"""`kubectl consumergroup`: what a person wants to see and do of a group, with their own rights.

It reads the group's `.status`, which the operator writes, and changes its `spec`. What is not the
operator's to do (rewinds, dead letters) it does itself at the ledger, with the group's Secrets.
`cli` says what there is; `reports` and `tables` are what is shown, `changes` what is written.
"""
