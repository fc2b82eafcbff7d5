//! Pages for beginners: [which epoch](#which-epoch-do-i-need) a program needs, and what is where for users of
//! [C](from_c) and [rsmpi](from_rsmpi). Nothing here is code.
//!
//! # Which epoch do I need
//!
//! The first line that fits:
//!
//! | the program | epoch |
//! | --- | --- |
//! | goes in steps, and all ranks take each step together | [`Window::fence_epochs`](crate::Window::fence_epochs), one fence between two steps; a single step: [`Window::fence_epoch`](crate::Window::fence_epoch) |
//! | goes in steps, and each rank has a few neighbours that it knows | [`Window::access`](crate::Window::access) and [`Window::expose`](crate::Window::expose): only neighbours wait for each other |
//! | stores data that the target waits for | [`Window::lock_all`](crate::Window::lock_all) with `put_notify`, and [`notifications`](crate::Window::notifications) there |
//! | changes single elements (tickets, histograms, queues) while others do too | [`Window::lock_all`](crate::Window::lock_all) once around all of it, with `fetch_add`, `accumulate`, `compare_and_swap`, which are atomic |
//! | reads what no rank writes meanwhile | [`Window::read_epoch`](crate::Window::read_epoch) between fences, or [`Window::shared`](crate::Window::shared) |
//! | changes several elements of one rank that have to fit together | [`Window::exclusive`](crate::Window::exclusive) |
//! | the same of several ranks | [`Window::lock_set`](crate::Window::lock_set), which cannot deadlock |
//!
//! Within a lock epoch, `flush` completes at the target, [`batch`](crate::window::Target::batch) also frees the buffers, and a
//! [`Request`](crate::window::Request) waits for one operation alone. Ends of epochs complete everything.
//!
//! Plain `put` and `get` of the same elements by two ranks at a time are a race, whose outcome is any mix of bytes. Atomic operations
//! meet each other safely, so a counter is never `put` while others `fetch_add` it.

pub mod from_c;
pub mod from_rsmpi;
