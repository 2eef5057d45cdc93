//! An empty WASI 0.2, which guests with an interpreter need in order to load. It has no files, environment,
//! arguments, sockets or input. What is printed goes to the log. Its clock does not advance, and its random
//! numbers are the same each time. Printed and random bytes use fuel.

use super::GuestState;
use super::guest_log::GuestLog;
use super::host_fuel::HostFuel;
use super::print_stream::PrintStream;
use crate::plugin_line::LineSource;
use parking_lot::Mutex;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;
use std::sync::Arc;
use std::time::Duration;
use wasmtime::component::{HasData, Linker, Resource, ResourceTable};
use wasmtime_wasi::p2::bindings::clocks::monotonic_clock;
use wasmtime_wasi::p2::bindings::random::{insecure, random};
use wasmtime_wasi::p2::{DynPollable, Pollable, subscribe};
use wasmtime_wasi::random::WasiRandomCtx;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

/// Seed of the guests' random source, so that a scorer is reproducible.
const GUEST_SEED: u64 = 0;

pub(super) struct Wasi {
    context: WasiCtx,
    table: ResourceTable,
    streams: [PrintStream; 2],
}

impl Wasi {
    fn new(log: &Arc<Mutex<GuestLog>>, fuel: &HostFuel) -> Wasi {
        let streams = [LineSource::Stdout, LineSource::Stderr]
            .map(|source| PrintStream::new(source, Arc::clone(log), fuel.clone()));
        let [stdout, stderr] = streams.clone();
        let context = WasiCtx::builder()
            .stdout(stdout)
            .stderr(stderr)
            .wall_clock(FrozenMonotonicClock)
            .monotonic_clock(FrozenMonotonicClock)
            .secure_random(ChaCha8Rng::seed_from_u64(GUEST_SEED))
            .insecure_random(ChaCha8Rng::seed_from_u64(GUEST_SEED))
            .insecure_random_seed(u128::from(GUEST_SEED))
            .allow_tcp(false)
            .allow_udp(false)
            .allow_ip_name_lookup(false)
            .build();
        Wasi { context, table: ResourceTable::new(), streams }
    }

    /// Logs printed lines that have no end.
    pub(super) fn finish(&self) {
        self.streams.iter().for_each(PrintStream::finish);
    }
}

impl WasiView for GuestState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let wasi = self.wasi.get_or_insert_with(|| Wasi::new(&self.log, &self.host_fuel));
        WasiCtxView { ctx: &mut wasi.context, table: &mut wasi.table }
    }
}

/// Links WASI, with random bytes that use fuel, and a clock whose alarms fire immediately. A sleeping guest could
/// otherwise hold its thread indefinitely, since a deadline ends guests but not host calls.
pub(crate) fn link(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_sync(linker)?;
    linker.allow_shadowing(true);
    monotonic_clock::add_to_linker::<GuestState, FrozenWallClock>(linker, |state| FrozenClock {
        table: state.ctx().table,
    })?;
    random::add_to_linker::<GuestState, MeteredRandomSource>(linker, metered)?;
    insecure::add_to_linker::<GuestState, MeteredRandomSource>(linker, metered)?;
    linker.allow_shadowing(false);
    Ok(())
}

struct MeteredRandomSource;

impl HasData for MeteredRandomSource {
    type Data<'a> = MeteredRandom<'a>;
}

/// The random numbers of a guest, whose bytes use fuel.
struct MeteredRandom<'a> {
    source: &'a mut WasiRandomCtx,
    fuel: HostFuel,
}

fn metered(state: &mut GuestState) -> MeteredRandom<'_> {
    let fuel = state.host_fuel.clone();
    MeteredRandom { source: state.ctx().ctx.random(), fuel }
}

impl random::Host for MeteredRandom<'_> {
    fn get_random_bytes(&mut self, count: u64) -> wasmtime::Result<Vec<u8>> {
        self.fuel.use_for(count)?;
        random::Host::get_random_bytes(self.source, count)
    }

    fn get_random_u64(&mut self) -> wasmtime::Result<u64> {
        random::Host::get_random_u64(self.source)
    }
}

impl insecure::Host for MeteredRandom<'_> {
    fn get_insecure_random_bytes(&mut self, count: u64) -> wasmtime::Result<Vec<u8>> {
        self.fuel.use_for(count)?;
        insecure::Host::get_insecure_random_bytes(self.source, count)
    }

    fn get_insecure_random_u64(&mut self) -> wasmtime::Result<u64> {
        insecure::Host::get_insecure_random_u64(self.source)
    }
}

struct FrozenWallClock;

impl HasData for FrozenWallClock {
    type Data<'a> = FrozenClock<'a>;
}

struct FrozenClock<'a> {
    table: &'a mut ResourceTable,
}

impl monotonic_clock::Host for FrozenClock<'_> {
    fn now(&mut self) -> wasmtime::Result<u64> {
        Ok(0)
    }

    fn resolution(&mut self) -> wasmtime::Result<u64> {
        Ok(RESOLUTION)
    }

    fn subscribe_instant(&mut self, _when: u64) -> wasmtime::Result<Resource<DynPollable>> {
        let alarm = self.table.push(TimerFired)?;
        subscribe(self.table, alarm)
    }

    fn subscribe_duration(&mut self, _duration: u64) -> wasmtime::Result<Resource<DynPollable>> {
        self.subscribe_instant(0)
    }
}

/// An alarm that has fired.
struct TimerFired;

#[async_trait::async_trait]
impl Pollable for TimerFired {
    async fn ready(&mut self) {}
}

/// One second, in nanoseconds.
const RESOLUTION: u64 = 1_000_000_000;

struct FrozenMonotonicClock;

impl wasmtime_wasi::HostWallClock for FrozenMonotonicClock {
    fn resolution(&self) -> Duration {
        Duration::from_nanos(RESOLUTION)
    }

    fn now(&self) -> Duration {
        Duration::ZERO
    }
}

impl wasmtime_wasi::HostMonotonicClock for FrozenMonotonicClock {
    fn resolution(&self) -> u64 {
        RESOLUTION
    }

    fn now(&self) -> u64 {
        0
    }
}
