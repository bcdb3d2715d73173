"""From a request to a page: routes, the rules of the browser (CSP, CSRF, caching), templates."""
