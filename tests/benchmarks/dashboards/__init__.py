"""Pictures of the dashboards in template.yaml, drawn from their own widgets with data of a replayed day."""
