"""The data of a study: the database, its schema, secrets and exports."""
