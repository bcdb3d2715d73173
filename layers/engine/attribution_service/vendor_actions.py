"""What the codes of the vendor's recommended actions ask for, in words."""

from __future__ import annotations

__all__ = ["in_words"]

_WORDS = {
    "CHECK_APP/CUDA": "look into the program and its use of CUDA",
    "CHECK_FM_CONFIG": "check the fabric manager's configuration",
    "CHECK_LINK_MECHANICAL_CONNECTIONS": "check that cables and boards sit well",
    "CHECK_MECHANICALS": "check that boards, cables and power connectors sit well",
    "CHECK_THERMALS": "check cooling",
    "CHECK_UVM": "check the driver's unified memory (nvidia-uvm)",
    "CONTACT_SUPPORT": "ask the vendor's support",
    "IGNORE": "nothing by itself",
    "INVESTIGATE_LINK_SI": "check the link's signal and cable",
    "RESET_FABRIC": "reset the NVSwitch fabric and its GPUs",
    "RESET_GPU": "drain the node and reset the GPU",
    "RESTART_APP": "start the program again",
    "RESTART_BM": "restart the machine itself, not a VM alone",
    "RESTART_VM": "restart the VM, or the machine where there is none",
    "RUN_FIELDDIAG": "run the vendor's field diagnostic",
    "UPDATE_SWFW": "update driver and firmware",
    "XID_154": "do what the GPU's Xid 154 line asks for",
    "XID_154_EVAL": "do what the GPU's Xid 154 line asks for",
}
"""Codes of NVIDIA's Xid and SXid catalogues; a workflow of theirs (``WORKFLOW_XID_48``) is a page of its own there."""


def in_words(recommended_action: str) -> str:
    """``RESET_GPU (drain the node and reset the GPU)`` for ``vendor: RESET_GPU``; unknown codes stay as they are."""
    code = recommended_action.removeprefix("vendor: ")
    words = _WORDS.get(code)
    return code if words is None else f"{code} ({words})"
