"""Getting bytes over HTTP: within the budget, past the address guard, checked to the last byte."""
