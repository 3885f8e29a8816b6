/**
 * Every limit of the interface, by name. A limit that clients can meet stands here and nowhere else,
 * so that validation, the OpenAPI document and the documentation agree.
 */

const KIB = 1024;
const MIB = 1024 * 1024;

/** Largest integer a JavaScript number holds exactly; int64 fields of bodies and ids in paths stay within it. */
export const INTEGER_MAX = Number.MAX_SAFE_INTEGER;
export const INTEGER_MIN = Number.MIN_SAFE_INTEGER;
/** Largest int32 (levels, process ids, niceness). */
export const INT32_MAX = 2 ** 31 - 1;
export const INT32_MIN = -(2 ** 31);

/** Longest wait of a long-poll for work or for a lease. Engines give up at 40 s, ten seconds later. */
export const WAIT_MS_MAX = 30_000;
/** Body of an engine report: engines send at most 5,000 items per request, and items may carry artifacts. */
export const REPORT_BYTES_MAX = 64 * MIB;
/** Events of a report, and log lines of one of them: no shorter JSON of a report of the largest size holds as many. */
export const REPORT_ITEMS_MAX = 1_000_000;
/** Body of any other request: parameters and artifacts are at most 1 MiB each, the rest is small. */
export const BODY_BYTES_MAX = 8 * MIB;
/** All request bodies in flight together; beyond it new ones are answered 503 instead of exhausting memory. */
export const BODIES_IN_FLIGHT_BYTES_MAX = 256 * MIB;
/** Bodies above this size are large: what they hold together is bounded, so that these need not wait for them. */
export const SMALL_BODY_BYTES_MAX = 64 * KIB;
/** What other large bodies hold while they arrive and wait to be decided: less than a second of work for two cores. */
export const LARGE_BODIES_BYTES_MAX = 32 * MIB;
/** Bodies above this size are parsed off the core thread, so that one large report does not stall dispatch. */
export const PARSE_ON_CORE_BYTES_MAX = 256 * KIB;
/** Rows of a report committed at once; larger reports are committed in slices, in order. */
export const REPORT_SLICE_ROWS_MAX = 2_000;
export const REPORT_SLICE_BYTES_MAX = MIB;

/** Levels of nesting in a body. Deeper ones would exhaust the stack of whatever walks them. */
export const JSON_DEPTH_MAX = 128;
/**
 * Values in a body: scalars, arrays, objects and keys. Each costs up to a microsecond on the threads that serve, whatever its
 * length; parameters of the largest size whose numbers have seven digits stay within it.
 */
export const JSON_VALUES_MAX = 200_000;
/** Characters of a number. Converting an integer takes time that grows with the square of its digits. */
export const NUMBER_LENGTH_MAX = 1_000;

/** Names of anything: flows, runs, tasks, tags, rules, engines, keys, states. They are compared, indexed and shown in one line. */
export const NAME_LENGTH_MAX = 1_000;
/** Names in one list or map: tags, flows of a rule, resources of a run. Each may be looked at for each event or hand-out. */
export const NAMES_COUNT_MAX = 1_000;
/** Paths and addresses: the longest path that Linux takes. */
export const PATH_LENGTH_MAX = 4_096;
/** Cron expressions, recurrence rules and times, which are read character by character on the thread that decides. */
export const EXPRESSION_LENGTH_MAX = 4_096;
/** Texts for people: descriptions, messages and subjects in rules. */
export const TEXT_LENGTH_MAX = 65_536;
/** Message of a state. User code decides how long an error message is: longer ones are cut, which the text says. */
export const MESSAGE_LENGTH_MAX = 65_536;
/** Message of a log line; longer ones are cut, which the text says. */
export const LOG_MESSAGE_LENGTH_MAX = 262_144;
/** Details of a state as JSON text; larger ones are replaced by their size and the beginning of their traceback. */
export const DETAILS_BYTES_MAX = MIB;
/** Payload of an event as JSON text. */
export const PAYLOAD_BYTES_MAX = MIB;
/** Answer to a question as JSON text. */
export const ANSWER_BYTES_MAX = MIB;
/** Parameter schema and options of a flow, each as JSON text; the core keeps them in memory. */
export const FLOW_BYTES_MAX = MIB;
/** What a rule matches and does as JSON text; the core keeps it in memory. */
export const RULE_BYTES_MAX = MIB;
/** Rules that are made over the API, and what all rules match and do together as JSON text: every event is compared with them. */
export const RULES_COUNT_MAX = 10_000;
export const RULES_BYTES_MAX = 64 * MIB;
/** Expectations of rules that are open at one time; they are held in memory. */
export const EXPECTATIONS_OPEN_MAX = 100_000;
/** Resources in leases that user code holds, each as often as it is held. */
export const LEASED_RESOURCES_MAX = 100_000;
/** Actions of a rule: all are done for each firing. */
export const RULE_ACTIONS_MAX = 100;
/** Task runs that one task run names as its parents: a task that joins as many mapped ones. */
export const PARENTS_COUNT_MAX = 100_000;

/** Run parameters as JSON text. */
export const PARAMETERS_BYTES_MAX = MIB;
/** Places of a schema that one check of parameters or an answer looks at: some ten milliseconds. Branches of branches multiply. */
export const SCHEMA_STEPS_MAX = 20_000;
/** Largest parameters that the core keeps in memory; larger ones are read from the store at hand-out. */
export const PARAMETERS_IN_MEMORY_BYTES_MAX = 4 * KIB;
/** Artifact data as JSON text; exactly this many bytes still pass. */
export const ARTIFACT_BYTES_MAX = 1_048_576;
/** Problems of the served directory that Settings lists: somebody mends the first ones first, and each carries its error in full. */
export const CODE_PROBLEMS_MAX = 200;
/** Schedules that GET /api/server names as silent after a step of the clock; one command puts all of them right. */
export const CLOCK_SCHEDULES_SHOWN = 20;
/** A flow's return value in `details.result`; larger values are recorded by their size only. */
export const RESULT_BYTES_MAX = 64_000;
/** Variable value as JSON text. */
export const VARIABLE_BYTES_MAX = 65_536;
export const VARIABLE_NAME_LENGTH_MAX = 128;
/** How long the first answer to an `Idempotency-Key` is kept: 24 hours, in microseconds. */
export const IDEMPOTENCY_KEEP_US = 24 * 3_600 * 1_000_000;
export const IDEMPOTENCY_KEY_LENGTH_MAX = 255;

/**
 * One part of an answer, about: a list is made and sent part by part, the next one when the connection has taken the last, so that
 * neither a reader nor the gateway holds more of it. A single record may be larger. A character counts as one.
 */
export const ANSWER_PART_BYTES_MAX = 256 * KIB;
/** A page in order of ids ends early at about this size, with its cursor: clients parse it as one text. */
export const ANSWER_PAGE_BYTES_MAX = 16 * MIB;
/** Answers up to this size are sent whole: the system takes them at once. Of larger ones it is counted what a connection does not take. */
export const WHOLE_ANSWER_BYTES_MAX = 64 * KIB;
/** Parts of answers that connections have not taken, all together; beyond it lists are answered 503. */
export const ANSWERS_UNSENT_BYTES_MAX = 128 * MIB;
/** Task runs or artifacts of a run in one answer, where the client asks for pages of them. */
export const RUN_PARTS_PAGE_MAX = 1_000;
/** Page sizes: [default, maximum]; the minimum is 1. Larger limits are lowered silently, 0 is raised to 1. */
export const RUNS_PAGE = [50, 500] as const;
/** Runs that a page of a search looks through at most (about 25 ms of a reader thread); the next page goes on from there. */
export const SEARCHED_RUNS_MAX = 20_000;
/** Longer parameters are not searched: a page would read up to SEARCHED_RUNS_MAX times PARAMETERS_BYTES_MAX. */
export const SEARCHED_PARAMETERS_BYTES_MAX = 2_048;
export const SEARCH_LENGTH_MAX = 200;
export const TASK_RUNS_PAGE = [50, 500] as const;
/** Hours of GET /api/stats: [default, maximum]. */
export const STATS_HOURS = [24, 24 * 31] as const;
export const LOGS_PAGE = [1_000, 10_000] as const;
export const EVENTS_PAGE = [100, 1_000] as const;
export const ARTIFACTS_PAGE = [50, 500] as const;
export const EXPECTATIONS_PAGE = [200, 200] as const;
export const BACKFILLS_PAGE = [50, 500] as const;
export const FIRINGS_COUNT_MAX = 200;
/** Latest runs shown with each flow. */
export const RECENT_RUNS_COUNT = 10;
/** Latest ended runs that a list of flows can be asked for. */
export const FLOW_RESULTS_MAX = 50;

/** Projected fires per schedule in an upcoming list, and how far ahead a fire can be skipped. */
export const PROJECTED_FIRES_MAX = 100;
export const SKIP_AHEAD_FIRES_MAX = 100;
/** Shortest interval of a schedule: that of a recurrence rule by the second. Each fire is a run. */
export const SCHEDULE_INTERVAL_SECONDS_MIN = 1;
/** Fires to come told of each schedule: [default, maximum], and of all schedules together: computing them holds up the core. */
export const FIRES_COUNT = [100, 1_000] as const;
export const FIRES_TOTAL_MAX = 20_000;
/** A calendar lists runs one by one up to a fire a minute: a week of that is 10,080 entries of a schedule. */
export const SCHEDULE_RUNS_EACH_MAX = 60;
export const UPCOMING_RUNS_MAX = 200;
export const PREVIEW_COUNT = [3, 20] as const;
export const CATCHUP_COUNT_DEFAULT = 100;
export const BACKFILL_VALUES_MAX = 100_000;
/** Parameters of all runs of a backfill together: they are written in one commit. */
export const BACKFILL_BYTES_MAX = 64 * MIB;
/** Runs of a backfill made, or cancelled, in one step of the core: some 10 or 30 ms. */
export const BACKFILL_SLICE_RUNS = 2_000;
/** Runs of a backfill in the queue beyond those that may run at once: so many say that they wait for their turn. */
export const BACKFILL_NEAR_MAX = 100;
/** One day. */
export const BACKFILL_INTERVAL_SECONDS_DEFAULT = 86_400;

/** Two equal moves closer together than this are one move sent twice (reason `duplicate`). */
export const DUPLICATE_WINDOW_US = 1_000_000;
/** An engine shows within this time that it knows of the run it was handed: ours does so every five seconds. */
export const ACKNOWLEDGE_WAIT_US = 60_000_000;
/** A run that has not started this long after its scheduled time is Late. */
export const LATE_AFTER_US = 15_000_000;

/** Commits whose stream messages may be on their way to a gateway whatever their size. */
export const FEED_COMMITS_MAX = 4;
/** Stream messages on their way to a gateway; what is beyond it becomes a gap that its readers are told of. */
export const FEED_BYTES_MAX = 8 * MIB;

/** Stream messages kept for clients that reconnect; an older number gets resync. */
export const STREAM_RING_COUNT = 4_096;
/**
 * One piece of the stream, about; what is more follows in further ones, between which other work has its turn: a piece is copied for
 * each reader, of whom there may be thousands. A single message may be larger.
 */
export const STREAM_PIECE_BYTES_MAX = 64 * KIB;
/** Pieces that readers of the stream have not taken, all together; beyond it a reader that would get a large one is told to resync. */
export const STREAM_UNSENT_BYTES_MAX = 64 * MIB;
/** Silence on a stream after which a comment line keeps the connection open. */
export const STREAM_KEEP_ALIVE_MS = 15_000;

/** MCP sessions kept: they hold no more than a client's name, and whoever loses one is only called `unknown`. */
export const MCP_SESSIONS_MAX = 1_000;
/** An MCP session that was not used for this long is forgotten. */
export const MCP_SESSION_IDLE_US = 3_600_000_000;
/** Length of the client name of a session; it becomes part of `created_by`. */
export const MCP_CLIENT_NAME_LENGTH_MAX = 128;
/** Page sizes of MCP tools: [default, maximum]. Smaller than those of the API, because a model reads every row. */
export const MCP_RUNS_PAGE = [20, 200] as const;
export const MCP_LOGS_PAGE = [200, 1_000] as const;
export const MCP_EVENTS_PAGE = [50, 500] as const;
export const MCP_ARTIFACTS_PAGE = [50, 200] as const;

/** Task runs that get_run and explain_failure show. */
export const MCP_TASK_RUNS_PAGE = [200, 500] as const;
/** A page for an MCP tool ends early at about this size: it is taken apart and written twice, on the thread that serves. */
export const MCP_PAGE_BYTES_MAX = 512 * KIB;
/** Answer of one read for an MCP tool; a record of the largest size fits. */
export const MCP_ANSWER_BYTES_MAX = 8 * MIB;

/** Longest time limit of a custom route; work that takes longer belongs into a run. */
export const ROUTE_MS_MAX = 300_000;
/** Body of the answer of a custom route; it is held whole on its way to the client. */
export const ROUTE_ANSWER_BYTES_MAX = 8 * MIB;
/** Requests for custom routes under way at once. */
export const ROUTE_REQUESTS_MAX = 1_000;
/** Time for one call of the function of a code rule, as for every action of a rule. */
export const RULE_CALL_MS_MAX = 10_000;
/** Time for one call of a hook. */
export const HOOK_MS_MAX = 60_000;

/** Text of all templates of a rule together: parsing takes a microsecond per character, on the thread that decides. */
export const RULE_TEMPLATES_LENGTH_MAX = 64 * KIB;
/** Depth of rule chains: an action whose event was made by a longer chain fails. */
export const RULE_CHAIN_DEPTH_MAX = 8;
/** Tries of a webhook or mail. */
export const OUTBOUND_ATTEMPTS_MAX = 3;
export const WEBHOOK_REDIRECTS_MAX = 3;
