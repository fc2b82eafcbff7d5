//! One step of the engine: move packets, issue what may leave, answer what arrived. Bounded, never blocking, never
//! re-entered: it holds the engine's lock, and nothing it calls can call it (lessons, decision 8).

use super::dispatch::Dispatch;
use super::protocol::Upper;
use crate::channel::{Budget, Channel, Lane, Source};
use crate::host::Host;
use crate::ids::WindowId;
use crate::origin::issue::Issuer;
use crate::state::{Outbox, Sent, State, WindowState, Windows};
use crate::stats::Counters;
use crate::sync;
use crate::sync::{dropped, parting};
use crate::target::{locks, recovery};
use crate::wire::{Request, RequestFlags, RequestKind};

/// What the engine's lock guards.
pub(crate) struct Core {
    pub(crate) channel: Box<dyn Channel>,
    pub(crate) upper: Box<dyn Upper>,
    pub(crate) state: State,
    pub(crate) windows: Windows,
}

impl Core {
    /// Advances everything once; answers whether anything moved.
    pub(crate) fn step(&mut self, host: &dyn Host) -> bool {
        let moved = self.step_to_send(host);
        self.receive(host) || moved
    }

    /// The first half of a step: sends what was begun, and takes nothing; answers whether anything moved.
    pub(crate) fn step_to_send(&mut self, host: &dyn Host) -> bool {
        self.state.counters.on_progress_steps(1);
        self.send(host)
    }

    /// The step of a wait that has just seen that there is nothing to send, and a packet to take.
    pub(crate) fn step_for_packet(&mut self, host: &dyn Host) -> bool {
        self.state.counters.on_progress_steps(1);
        self.receive(host)
    }

    /// Takes what has arrived, and answers it.
    fn receive(&mut self, host: &dyn Host) -> bool {
        let has_moved = self.poll(self.state.config.poll_packets as u32);
        if has_moved {
            // What has arrived, bulk bodies too, is answered in the same step, so an answer waits for no later call. The poll
            // behind it takes no packets: those are the next step's, and a channel need not ask the system for them.
            let has_sent = !self.is_idle() && self.send(host);
            if (has_sent || self.channel.keeps_packets()) && !self.channel.is_quiet() {
                let _ = self.flush();
            }
        }
        has_moved
    }

    /// Moves what the channel has, and takes at most so many packets; answers whether anything moved.
    fn poll(&mut self, packets: u32) -> bool {
        let budget = Budget { packets, bytes: self.state.config.poll_bytes as usize };
        let mut sink =
            Dispatch { state: &mut self.state, windows: &mut self.windows, upper: &mut *self.upper };
        !self.channel.poll(&mut sink, budget).is_idle()
    }

    /// Whether something was begun that no step has tried to send yet.
    pub(crate) fn is_due(&self) -> bool {
        self.state.needs_step || self.upper.is_due()
    }

    /// Whether a step would do nothing but poll the channel.
    pub(crate) fn is_idle(&self) -> bool {
        !self.windows.has_active()
            && self.state.replies.is_empty()
            && self.state.wake_ups.is_empty()
            && !self.is_due()
    }

    /// Sends what lies in the channel, without taking a packet; answers whether anything moved.
    pub(crate) fn flush(&mut self) -> bool {
        self.poll(0)
    }

    fn send(&mut self, host: &dyn Host) -> bool {
        let mut moved = false;
        self.state.needs_step = false;
        self.state.forget_past();
        self.state.ask_if_woken(&mut self.windows);
        if !self.state.early.is_empty() {
            self.state.hear_early(&mut self.windows);
        }
        for peer in std::mem::take(&mut self.state.suspicion.suspects) {
            // The channel finds out, behind all that the process had sent, or has reported why before.
            let _ = self.channel.connect(peer);
        }
        if self.windows.has_active() {
            for id in self.windows.active() {
                moved |= self.advance_window(id, host);
            }
        }
        if !self.state.replies.is_empty() {
            let State { replies, bulks, wake_ups, counters, by_channel, .. } = &mut self.state;
            let mut outbox = Outbox { channel: &mut *self.channel, counters, by_channel };
            let mut release = |window: &mut WindowState, counters: &mut Counters, peer, kind| {
                locks::release(wake_ups, counters, window, peer, kind)
            };
            moved |= replies.send(&mut outbox, bulks, &mut self.windows, &mut release);
        }
        self.state.withdraw_all(&mut *self.channel);
        moved |= self.send_wake_ups();
        moved | self.upper.advance(&mut *self.channel)
    }

    fn advance_window(&mut self, id: WindowId, host: &dyn Host) -> bool {
        let Self { channel, state, windows, .. } = self;
        let Some(mut context) = windows.borrow(state, id) else { return false };
        let (state, window) = context.split();
        let mut moved = false;
        if window.opening.is_some() {
            match sync::is_open(state, window, host) {
                Ok(is_open) => moved |= is_open,
                Err(error) => window.note_error(error),
            }
        }
        moved |= recovery::advance(state, window);
        moved |= locks::advance(state, window);
        state.look_again_by(window.target.due());
        moved |= dropped::advance(&mut **channel, state, window, host);
        if window.is_closed() {
            let came = parting::advance(state, window, &mut **channel);
            drop(context);
            if came.is_over {
                self.state.end_ghost(&mut self.windows, id, None);
            }
            return moved | came.moved | came.is_over;
        }
        let State { pools, bulks, by_channel, config, lost, .. } = state;
        if window.needs_issue {
            let channel = &mut **channel;
            moved |= Issuer { window, pools, bulks, channel, by_channel, config }.issue_window();
        }
        moved | sync::settle(window, lost)
    }

    fn send_wake_ups(&mut self) -> bool {
        let before = self.state.wake_ups.len();
        if before == 0 {
            return false;
        }
        let wake_up = Request {
            window: WindowId { index: 0, generation: 0 },
            flags: RequestFlags::NONE,
            sequence: crate::ids::Sequence(0),
            kind: RequestKind::WakeUp,
        };
        let head = wake_up.emit();
        let State { wake_ups, counters, by_channel, .. } = &mut self.state;
        let mut outbox = Outbox { channel: &mut *self.channel, counters, by_channel };
        wake_ups.retain(|peer| outbox.small(*peer, Lane::Response, &head, Source::Bytes(&[])) == Sent::Full);
        self.state.wake_ups.len() != before
    }
}
