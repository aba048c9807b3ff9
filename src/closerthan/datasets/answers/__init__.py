"""Answers of people, one file per data set; they are downloaded when they are first needed."""
