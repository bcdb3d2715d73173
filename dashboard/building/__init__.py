"""From stored verdicts to contexts: one public function a page, each ``…_context(site, …)`` and free of markup.

They raise ``attribution_service.errors.ServiceError``; ``error.error_context`` makes a page of it.
"""
