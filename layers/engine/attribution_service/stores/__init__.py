"""Back ends: ``local`` (a folder and SQLite) and ``aws`` (S3 and DynamoDB), both under one contract test."""
