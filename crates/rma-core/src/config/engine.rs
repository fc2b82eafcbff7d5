//! The engine's own variables.

crate::variables! {
    /// Sizes and thresholds of one engine. Every limit may be 1 (lessons, decision 10), but where what is never cut needs more.
    pub struct EngineConfig {
        /// Slots of each window's operation table.
        slots: u64 = 64u64, "RMA_SLOTS", Count, 1..=1 << 20,
            "slots of each window's operation table; targets share slots by rank modulo this number",
            "look-up stays one step for the peers of a stencil, and an idle window stays under a page";
        /// Most windows at a time.
        windows: u64 = 2048u64, "RMA_WINDOWS", Count, 1..=1 << 15,
            "windows that a process may have at a time; the same in all processes",
            "a round of 264 bytes when a window is made; 32768 are one of 4 KiB";
        /// Operation elements reserved for each window.
        op_pool_window: u64 = 64u64, "RMA_OP_POOL_WINDOW", Count, 1..=1 << 24,
            "operation elements that only one window may use, for each window",
            "a window always moves, whatever the others hold";
        /// Operation elements shared by all windows.
        op_pool_global: u64 = 16384u64, "RMA_OP_POOL_GLOBAL", Count, 0..=1 << 28,
            "operation elements that all windows share; allocated when first used",
            "deep enough that a burst of small operations never waits";
        /// Target elements reserved for each window.
        target_pool_window: u64 = 16u64, "RMA_TARGET_POOL_WINDOW", Count, 1..=1 << 24,
            "target elements that only one window may use, for each window",
            "the neighbours of a stencil fit";
        /// Target elements shared by all windows.
        target_pool_global: u64 = 16384u64, "RMA_TARGET_POOL_GLOBAL", Count, 0..=1 << 28,
            "target elements that all windows share; allocated when first used",
            "all-to-all patterns on large machines without giving up piggybacking";
        /// Operations held back for piggybacking.
        piggyback_threshold: u64 = 8u64, "RMA_PIGGYBACK_THRESHOLD", Count, 0..=1 << 20,
            "operations to one target held back so that lock, flush and unlock ride on them; 0 holds back none",
            "more than the short epochs of lock-based codes, less than would delay a stream";
        /// Waiting operations from which on small stores share packets.
        pack_from: u64 = 32u64, "RMA_PACK_FROM", Count, 1..=1 << 20,
            "operations to one target that wait, from which on small puts and accumulates to it share packets; those with requests do from a quarter of it on the way",
            "epochs of a few dozen operations keep their packets and what rides on them; in a stream a packet each costs more, and so does an element of the table each";
        /// Most data bytes that may ride on a lock request.
        lock_data_bytes: u64 = 4096u64, "RMA_LOCK_DATA_BYTES", Bytes, 0..=1 << 20,
            "operations with more data wait for the lock instead of travelling with the request",
            "covers scalars and short rows; larger data costs more to keep at a busy target than a round trip";
        /// Most bytes of operation data that wait for locks at one target window.
        lock_queue_bytes: u64 = 65536u64, "RMA_LOCK_QUEUE_BYTES", Bytes, 0..=1 << 30,
            "operation data that one window keeps for origins waiting for its lock; past it the origins send again",
            "sixteen full lock packets";
        /// Entries of the directory of each lock's waiting line.
        lock_directory: u64 = 16u64, "RMA_LOCK_DIRECTORY", Count, 1..=4096,
            "waiters of one lock in mapped memory that a release can wake alone; with more it wakes all; the same in all processes",
            "more than the processes of a usual node; two cache lines for each window and rank";
        /// Threads of a process that announce what they change.
        announcers: u64 = 8u64, "RMA_ANNOUNCERS", Count, 1..=256,
            "threads of a process that change words of mapped memory without locking a stripe of the window; the same in all processes",
            "a cache line for each window and rank, and four of notes";
        /// Get-like requests under way to one target.
        credits: u64 = 64u64, "RMA_CREDITS", Count, 1..=1 << 20,
            "requests with a data reply that one origin may have under way to one target on one window",
            "bounds the replies a target keeps, and covers a round trip at full rate";
        /// Shortest put or get that is a transfer.
        transfer_from: u64 = 0u64, "RMA_TRANSFER_FROM", Bytes, 0..=1 << 40,
            "puts and gets with runs of so many bytes on are written to or read from the target's memory without its code, where the network can; 0 leaves it to the channel, the greatest value turns it off",
            "each channel knows from where on a transfer costs less than packets";
        /// Keys of targets.
        remote_keys: u64 = 1024u64, "RMA_REMOTE_KEYS", Count, 0..=1 << 24,
            "targets of a window whose memory keys are kept; others are asked for theirs again",
            "48 bytes for each target in use";
        /// Most ranks of a window that meet in fences by packets.
        fence_packets: u64 = 2u64, "RMA_FENCE_PACKETS", Count, 0..=1024,
            "most ranks of a window that do not all map each other and notify each other of their fences, a packet to each; more meet by the host's barrier",
            "two ranks need no acknowledgement then: one way instead of three, for no more packets";
        /// Longest piece of a streamed operation.
        unit_bytes: u64 = 1_048_576u64, "RMA_UNIT_BYTES", Bytes, 16..=1 << 26,
            "accumulates longer than this travel and apply piece by piece",
            "each piece is a round trip over sockets: with pieces of 256 KiB 4 MiB took three quarters longer, over shared memory as long";
        /// Most loops and runs of one packet's datatype. An element of a pair, which is never cut, has two.
        shape_entries: u64 = 1024u64, "RMA_SHAPE_ENTRIES", Count, 4..=65535,
            "loops and runs of a datatype that one packet describes, if it has room; an irregular one takes a packet for each so many blocks",
            "a run takes 4 to 16 bytes of a packet, so that most datatypes are one; the target keeps 16 bytes for each while it serves the packet";
        /// Packets handled by one poll.
        poll_packets: u64 = 64u64, "RMA_POLL_PACKETS", Count, 1..=1 << 20,
            "packets that one step of the progress engine handles at most",
            "keeps one busy peer from delaying the caller";
        /// Bytes received by one poll.
        poll_bytes: u64 = 1u64 << 20, "RMA_POLL_BYTES", Bytes, 1..=1 << 30,
            "bytes after which one step of the progress engine takes no further packet",
            "about 0.1 ms of copying";
        /// Direct synchronization calls between two polls.
        direct_poll_interval: u64 = 32u64, "RMA_DIRECT_POLL_INTERVAL", Count, 1..=1 << 20,
            "synchronization calls that need no packet poll the channels at least once in this many calls",
            "a poll costs more than a direct put; a loop of such calls still serves its peers";
        /// How long a wait spins before it sleeps.
        spin_us: u64 = 30u64, "RMA_SPIN", Microseconds, 0..=1_000_000,
            "how long a wait polls before it sleeps, when ranks do not outnumber cores",
            "longer than a round trip between two processes, shorter than a scheduler tick";
        /// Turns that a wait gives away before it sleeps.
        yields: u64 = 16u64, "RMA_YIELDS", Count, 0..=1 << 20,
            "times that a wait lets other processes run, polling in between, before it sleeps",
            "a turn costs less than a sleep and a wake-up; more would take the processor from processes that compute";
        /// How long a wait may last before it reports what it waits for; 0 is never.
        wait_report_s: u64 = 60u64, "RMA_WAIT_REPORT", Seconds, 0..=1 << 20,
            "a wait that lasts longer reports what it waits for, in which call and window, and again when it has doubled; 0 turns it off",
            "no correct program waits that long unnoticed";
    }
}
