//! Futures: operations, messages, collectives and counters are awaited by tasks of any executor; this one is twenty lines.

use rma::{Result, World};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let (mut future, waker) = (pin!(future), Waker::from(Arc::new(Unpark(thread::current()))));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

pub(crate) fn run(world: &World) -> Result<()> {
    let mut window = world.allocate::<u64>(4)?;
    window.local().write(0, &[u64::from(world.rank()); 4]);
    world.barrier()?;
    let sum = window.lock_all(|all| {
        block_on(async {
            // All are under way before the first is awaited.
            let requests: Vec<_> =
                (0..world.size()).map(|rank| all.rank(rank)?.rget(vec![0; 4], 0)).collect();
            let mut sum = 0;
            for request in requests {
                sum += request?.await?.iter().sum::<u64>();
            }
            Ok(sum)
        })
    })?;
    let size = u64::from(world.size());
    assert_eq!(sum, 4 * size * (size - 1) / 2);

    window.set_notifications(1)?;
    let right = (world.rank() + 1) % world.size();
    window.lock_all(|all| {
        block_on(async {
            all.put_value_notify(sum, right, 0, 0)?;
            all.notified(0, 1)?.await?;
            let sending = world.begin_send(right, 0, &[all.local().get(0)])?;
            let message = world.begin_receive::<u64>(None, None)?.await?;
            assert_eq!(message.values, [sum]);
            sending.await?;
            world.begin_barrier().await
        })
    })?;
    window.free()
}
