# What the layers and the larger functions share: their modules, compiled for the functions' own Python where that is at
# hand. Lambda cannot keep what it compiles: without this every cold start compiles them all, which costs as much as all
# the rest of it.
LAYER_PYTHON ?= 3.13
# Where the modules lie in Lambda: tracebacks name it.
INSTALLED ?= /opt/python

.PHONY: compile-modules
compile-modules:
	@runtime=python$(LAYER_PYTHON); \
	if ! $$runtime -c "import sys; sys.exit('$(LAYER_PYTHON)' != '.'.join(map(str, sys.version_info[:2])))" 2>/dev/null; then \
	echo "no $$runtime on the PATH: each cold start compiles the modules and takes twice as long"; exit 0; fi; \
	$$runtime -m compileall -q --invalidation-mode unchecked-hash -s "$(SITE)" -p "$(INSTALLED)" -x bundled_rules "$(SITE)"
