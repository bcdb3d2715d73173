"""What programs say in plain words, without an exception's class: 'Dataset is empty', 'Config file not found: x.yaml'.

Healthy programs say such things too, of files they can do without: the lines are shown, and only where nothing else
tells why a job failed does the first of them stand for it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from common.application import AUTHOR
from common.unread import PLAIN_WORDS, earliest, is_unread, unread_error_lines

from attribution_lib.rule_api import (
    Confidence,
    Emission,
    EventType,
    FilterPriority,
    RefinerPriority,
    accumulator_def,
    filter_def,
    refiner_def,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from attribution_lib.rule_api import Event, FilterContext, JobIdentity, RefinerContext

MISSING = "Missing input, in plain words"
SETTING = "Refused setting, in plain words"
DATA = "Unusable data, in plain words"
CHECKPOINT = "Checkpoint trouble, in plain words"
GPU_MEMORY = "Out of GPU memory, in plain words"
HOST_MEMORY = "Out of memory, in plain words"
CODE = "Failed check, in plain words"
DISK = "No room on the disk, in plain words"

_START = r"(?:^|[\]|>)\"\d-] ?|[:=|] +|\b(?:ERROR|FATAL|CRITICAL|[Ee]rror|[Ff]atal|[Ff]ailed) +)"
"""A message starts the line, or stands behind a bracket, a quote, a colon, a dash, a time or the word of a level."""
_THING = (
    r"(?:config\w*|data ?set|data|checkpoint|model|input|tokenizer|vocab\w*|weights?|manifest|image"
    r"|annotation|label"
    r"|file|path|folder|director(?:y|ies)|key|bucket)s?"
)
_SETTING = (
    r"(?:argument|option|parameter|value|config\w*|setting|model|optimizer|scheduler|data ?set|backend"
    r"|precision|dtype"
    r"|strategy|architecture|device|batch[ _]size|learning[ _]rate|format|mode|flag|activation|loss|task|metric"
    r"|algorithm)"
)
_NOT_ABLE = r"(?:could ?n.t|could not|cannot|can.t|unable to|failed to)"
_KINDS = {
    MISSING: (
        rf"(?:the |an? )?(?:[\w.-]+ ){{0,3}}{_THING} (?:file |path |folder |directory )?(?:[^\s:]{{1,200}} )?"
        r"(?:does not exist|doesn.t exist|(?:was |were |is |are )?not found|(?:is|are) missing"
        r"|could not be found|cannot be found)"
        rf"|{_NOT_ABLE} (?:find|open|locate|read|access) (?:the |an? |any )?(?:[\w.-]+ ){{0,3}}{_THING}"
        r"|missing (?:required )?(?:environment variable|env(?:ironment)? var|api key|credential|token)"
        r"|environment variable \S+ (?:is |was )?(?:not set|missing|undefined|required)"
        r"|no (?:api key|credentials?|token) (?:found|provided|given|configured)"
        r"|(?:the )?(?:[\w.-]+ ){0,4}(?:api key|credentials?|token),? (?:but none was found|not provided|is missing)"
        r"|[^\n]{1,200}: no such file or directory$"
        r"|permission denied(?:$| while| for| when)"
    ),
    SETTING: (
        r"(?:invalid|unknown|unsupported|illegal|unrecogni[sz]ed) (?:value |choice |setting |configuration )?"
        rf"(?:for |of )?(?:[\w.-]+ ){{0,2}}{_SETTING}\b"
        r"|(?:[\w.-]+ ){1,4}(?:must be|has to be|needs to be|must not be|cannot be) (?:an? |the )?"
        r"(?:positive|non-?negative|greater|less|larger|smaller|at least|at most|equal|divisible|set\b|specified"
        r"|provided|one of|between|in the range|[<>]=? ?\d)"
        r"|missing (?:required )?(?:[\w.-]+ ){0,2}(?:argument|parameter|option|field|setting|config\w*)"
        r"|no such option"
        r"|(?:validation of (?:the )?(?:arguments|config\w*|input)"
        r"|(?:argument|config\w*|input|parameter|schema) validation) failed"
        r"|(?:you )?must (?:specify|provide|pass|supply) |please (?:set|specify|provide|pass|install) |either --?\w+"
        r"|(?:this )?\S* ?requires (?:python|torch|transformers|cuda|numpy|[\w-]+ ?[><=]=)"
        r"|(?:unable to|failed to|could not|cannot) parse (?:the )?(?:[\w.-]+ ){0,1}"
        r"(?:config\w*|yaml|json|toml|arguments?)"
    ),
    DATA: (
        r"(?:training |validation |input )?(?:data ?set|data|shard|split|dataloader|manifest) (?:\S+ )?(?:is|was) "
        r"(?:empty|corrupt\w*|truncated|malformed|invalid|incomplete)"
        r"|(?:corrupt(?:ed)?|malformed|truncated|damaged) (?:record|sample|image|shard|file|data|batch"
        r"|example|row|line"
        r"|json|header|block|archive|video|audio)"
        r"|(?:data|data ?set|batch) (?:loading|reading|preprocessing|preparation|processing|tokenization) failed"
        r"|hdf5-diag: error detected|netcdf: \w+ error|libpng error: \w"
        r"|no (?:training |validation |valid )?(?:data|samples|examples|images|records) (?:were |was )?"
        r"(?:found|available|left)|nothing to train on"
    ),
    CHECKPOINT: (
        r"checkpoint (?:file )?(?:\S+ )?(?:is|was|appears|seems) (?:to be )?"
        r"(?:corrupt\w*|incomplete|truncated|invalid|damaged)"
        rf"|{_NOT_ABLE} (?:save|write|restore|resume|load) (?:from )?(?:the )?(?:[\w.-]+ ){{0,2}}"
        r"(?:checkpoint|state dict|optimizer state|weights)"
    ),
    GPU_MEMORY: (
        r"(?:gpu|cuda|vram)(?: \d+)?:? out of memory|(?:gpu|vram) memory (?:is )?too (?:small|low)"
        r"|allocation of [^\n]{1,40}failed on (?:gpu|device)|(?:not enough|insufficient|ran out of"
        r"|out of) (?:available |free )?(?:gpu|device|cuda|video|graphics|vram)"
        r"(?: device)? ?memory|(?:gpu|device|cuda|vram)(?: memory)? (?:is |was )?"
        r"(?:insufficient|exhausted|ran out of memory)|(?:[\w.-]+ )?ran out of (?:gpu|device|cuda) memory"
        r"|failed to allocate (?:[\d.]+ ?\w+ )?(?:of )?(?:gpu|device|cuda|vram) memory"
    ),
    HOST_MEMORY: (
        r"memory limit exceeded|(?:[\w.-]+ ){0,3}exceeded (?:its |the )?(?:[\w.-]+ )?memory(?: limit)?\b"
        r"|out of memory(?:$|[ .,:!])|not enough (?:free |host |system )?memory"
        r"|insufficient (?:host |system )?memory|(?:host |system )?memory (?:is |was )?exhausted"
        r"|oom (?:detected|error|on)\b|ran out of (?:host )?(?:ram|memory)"
        r"|(?:ram|memory) usage (?:is )?(?:above|over) (?:the )?limit"
        r"|(?:[\w.-]+ ){0,3}oom[- ]killed"
    ),
    DISK: r"(?:disk|file ?system|volume|partition)(?: is)? full\b|(?:disk )?quota (?:is )?exceeded|out of disk space"
    r"|not enough disk space",
    CODE: r"(?:assertion failed|unhandled exception|uncaught exception|fatal exception)\b",
}
_STATED = (
    r"\bnot (?:evenly )?(?:split|divisible|valid|aligned)\b|\bhas 0 \w+|\bunderflow\b|bad magic"
    r"|\btoo (?:long|large|small|many|few)\b"
    r"|\bwrong (?:input|shape|type|format|size|dtype)|\blarger than (?:the )?\w+|must be given"
    r"|\bout of range\b|missing dependency"
    r"|(?:shape|size|dimension|schema|vocab\w*|version|type|dtype|hash|sha256|checksum)s? mismatch"
    r"|\bdo(?:es)? not match\b"
    r"|\bincompatible\b|\binconsistent with\b|\bnot compatible\b|\b(?:parse|parsing|decoding) error\b"
    r"|integrity check failed"
    r"|unexpected (?:end of file|eof)|eof reached|\baborting\b|\babort(?:ed|ing): |\bdiverged\b"
    r"|\bexceeds (?:the )?(?:max|limit|\d)"
    r"|wrong number of|zero length|(?:could not|cannot) be (?:loaded|read|parsed|decoded|opened|imported)"
    r"|raised an exception"
    r"|required but not (?:installed|found|set)|division by zero|stack overflow|not supported (?:by|on|for|with)\b"
)
"""Ends of statements whose topic other words of the line name."""
_READERS = {symptom: re.compile(f"{_START}(?:{words})", re.IGNORECASE) for symptom, words in _KINDS.items()}
_NO_FAILURE = re.compile(
    r"\b(?:WARN(?:ING)?|INFO|DEBUG|NOTICE|TRACE)\b|\b[Ww]arning\b|: [WI] |\[[WI]\d|\b[WI]\d{4} \d\d:"
    r"|\bspank\b|\bslurm(?:stepd|d|ctld)\b|\bpyxis\b|\bcontainerd\b|\brunc\b|\bkubelet\b"
    r"|level=(?:info|warn|debug)|\"(?:info|warn(?:ing)?|debug)\""
    r"|(?i:\bdefault|\bskip|\bignor|\bcreat|\bdownload|\bfall(?:ing)? ?back|\boptional\b|\bfrom scratch\b|\bretry"
    r"|\binstead\b|\bcontinu|\bcache\b|\bmay\b|\bmight\b|\bif\b|\bto avoid\b)"
)
"""What is said at a level of warning or lower, or of something that the program can do without."""
_ELSEWHERE = re.compile(
    r"\bFile \"|\bstd(?:err|out)\b|standard error|\b(?:ranks?|peers?|actors?|workers?|nodes?|hosts?"
    r"|replicas?|clusters?|connect\w*|sockets?|networks?|nccl"
    r"|servers?|https?"
    r"|url|time-?out|timed out|heartbeats?|drivers?|gpus?|devices?|cuda|ecc|nvlink|infiniband|disks?|mounts?|killed"
    r"|signal|exit(?:ed)?|status|services?|daemons?|kernel|internal|unknown error)\b",
    re.IGNORECASE,
)
"""Words of machines, peers and processes: a line with one of them may be about anything."""
_TOPICS = {
    symptom: re.compile(words, re.IGNORECASE)
    for symptom, words in {
        CHECKPOINT: r"\bcheckpoint|\bstate[ _]dict|\bweights\b|\boptimizer state",
        DATA: r"\b(?:data ?sets?|dataloader|shards?|records?|samples?|images?|audio|videos?|\w*jsonl?|csv|parquet"
        r"|schema|columns?|labels?|manifest|corpus|annotations?|tokens?)\b",
        SETTING: r"\b(?:arguments?|options?|config\w*|ya?ml|hyper-?parameters?|parameters?|flags?|learning[ _]rate"
        r"|batch[ _]size|sequences?|(?:prompt|context) length|layers?|hidden size|precision|max_\w+|num_\w+"
        r"|classes|tokenizer|vocab\w*"
        r"|models?|profiles?|schedule"
        r"|optimizer|usage)\b",
        CODE: r"\b(?:tensors?|shapes?|dimensions?|modules?|import\w*|packages?|plugins?|callbacks?|division by zero"
        r"|stack overflow|assert\w*|nan|loss|gradients?|index out of|null pointer|undefined|user code)\b",
    }.items()
}
_PLACE = re.compile(r"\S*/\S*|\b\w+(?:::\w+)+:?|\b[\w.-]+\.(?:py|cc|cpp|cu|h|rs|go):\d+\S*")
"""Paths and places in source code: their words are names."""
_LEVEL = re.compile(r"\b(?i:error|critical|fatal)\b\]?")
_KILLED = re.compile(r"^\d*:(?:9|15)$|^(?:137|143)(?::0)?$|^-(?:9|15)\b")
"""Exit codes of a process that was ended from outside: its own words hardly say why, unless they speak of memory."""
_WORDS = 400


class Statement:
    """One line in plain words."""

    complete = True

    def __init__(self, line: str) -> None:
        self._line = line

    def feed(self, _line: str) -> bool:
        """Nothing after the line belongs to it."""
        return False

    def finalize(self, *, truncated: bool) -> Iterator[Emission]:  # noqa: ARG002 -- the protocol of accumulators
        """What the line says; what it is about is asked only where nothing else is known."""
        yield Emission("info", payload={"kind": PLAIN_WORDS, "words": self._line[:_WORDS].strip()})


def about(event: Event) -> str | None:
    """The symptom of what a statement is about; None where that is not clear."""
    words = str(event.payload.get("words") or "")
    return next((kind for kind, reader in _READERS.items() if reader.search(words)), None) or topic_of(words)


def topic_of(line: str) -> str | None:
    """The symptom of an error line that speaks of the program's own things and of nothing else."""
    said = _PLACE.sub(" ", line)
    if _ELSEWHERE.search(said):
        return None
    return next((symptom for symptom, words in _TOPICS.items() if words.search(said)), None)


@accumulator_def(
    "PlainWords",
    AUTHOR,
    trigger_re=f"{_START}(?i:{'|'.join(_KINDS.values())})|(?i:{_STATED})",
    sources=("applog",),
    last_resort=True,
    key=("words",),
)
def plain_words(_job: JobIdentity, _captures: Mapping[str, str], line: str) -> Statement:
    """A failure that the program states in plain words: a fact, for the case that nothing else is known."""
    return Statement(line)


@filter_def("PlainWordsOfLastResort", AUTHOR, priority=FilterPriority.LATE + 490)
def plain_words_of_last_resort(context: FilterContext) -> None:
    """The first such line stands for the failure of a job of which no rule reads more than a launcher's word.

    Without one, the first error line does whose words are of the program's own things.
    """
    stated = _stated(context) if is_unread(context) else None
    if stated is not None:
        event, symptom = stated
        by = "PlainWordsOfLastResort"
        context.event_stream.emit(event_type=EventType.BAD_NODE, rule=by, derived_from=event, symptom=symptom)


def _stated(context: FilterContext) -> tuple[Event, str] | None:
    """The line that states the failure, and what it is about."""
    infos = context.event_stream.events(type=EventType.JOB_INFO)
    steps = [event for event in infos if event.payload.get("kind") == "progress"]
    facts = [event for event in infos if event.payload.get("kind") == PLAIN_WORDS and _counts(event, steps)]
    known = {id(event): found for event in facts if (found := about(event)) is not None}
    facts = [event for event in facts if id(event) in known]
    if _KILLED.search(context.job.exit_code):
        facts = [event for event in facts if known[id(event)] in (HOST_MEMORY, GPU_MEMORY)]
        return (earliest(facts), known[id(earliest(facts))]) if facts else None
    if facts:
        said = earliest([event for event in facts if _LEVEL.search(event.datum)] or facts)
        return said, known[id(said)]
    errors = [event for event in unread_error_lines(context) if _counts(event, steps)]
    symptom = topic_of(_LEVEL.split(earliest(errors).datum, maxsplit=1)[-1]) if errors else None
    return (earliest(errors), symptom) if symptom is not None else None


def _counts(event: Event, steps: Iterable[Event]) -> bool:
    """Whether the line states a failure, and no step of the training stands behind it."""
    if _NO_FAILURE.search(event.datum):
        return False
    stream, line = event.last.stream, event.last.line_num or 0
    return not any(step.last.stream == stream and (step.last.line_num or 0) > line for step in steps)


@refiner_def(
    name="PlainWordsAreNotSure",
    author=AUTHOR,
    priority=RefinerPriority.POST_OUTCOME,
    symptoms=tuple(_KINDS),
)
def plain_words_are_not_sure(context: RefinerContext) -> None:
    """A reading of plain words alone is no better than medium."""
    choice = context.choice
    if choice is not None and choice.root is not None and choice.root.symptom in _KINDS:
        choice.confidence = Confidence.MEDIUM
