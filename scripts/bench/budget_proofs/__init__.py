"""The promises about budgets and sources, measured from outside: what the sources' host sees, what
the workers were granted, what the broker counts."""
