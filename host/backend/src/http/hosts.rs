//! The hosts that the backends of a process use.

use super::host_limiter::HostLimiter;
use super::server_health::HealthState;
use super::transport::Transport;
use gage_config::{HttpLimits, HttpRetry, Permissions};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

/// Hosts used by the backends of a process, each with its limits and its health.
#[derive(Clone)]
pub struct HttpHosts {
    hosts: Arc<Hosts>,
    /// What the suite of these backends may reach.
    permissions: Permissions,
}

struct Hosts {
    limiters: Mutex<BTreeMap<String, Arc<HostLimiter>>>,
    transport: Option<Arc<dyn Transport>>,
    has_answered_before: bool,
    jitter_seed: u64,
}

impl Default for HttpHosts {
    fn default() -> HttpHosts {
        HttpHosts::new(false)
    }
}

impl HttpHosts {
    /// Creates them without any host. `has_answered_before` is true if an earlier process got answers from them.
    pub fn new(has_answered_before: bool) -> HttpHosts {
        // Processes with the same requests retry at different times.
        let jitter_seed = RandomState::new().hash_one(());
        let limiters = Mutex::default();
        HttpHosts::unrestricted(Hosts { limiters, transport: None, has_answered_before, jitter_seed })
    }

    /// Creates them with a transport in place of the network. The seed decides the jitter of retries.
    pub fn simulated(transport: Arc<dyn Transport>, jitter_seed: u64) -> HttpHosts {
        let (limiters, transport) = (Mutex::default(), Some(transport));
        HttpHosts::unrestricted(Hosts { limiters, transport, has_answered_before: false, jitter_seed })
    }

    fn unrestricted(hosts: Hosts) -> HttpHosts {
        HttpHosts { hosts: Arc::new(hosts), permissions: Permissions::default() }
    }

    /// Returns the same hosts for a suite that may reach only some of them.
    pub fn restricted(&self, permissions: &Permissions) -> HttpHosts {
        HttpHosts { hosts: Arc::clone(&self.hosts), permissions: permissions.clone() }
    }

    pub(super) fn permissions(&self) -> &Permissions {
        &self.permissions
    }

    /// Returns the limiter of a host, after applying the limits of another backend.
    ///
    /// The larger concurrency limit and the smaller budgets apply.
    pub(super) fn host(&self, name: &str, limits: &HttpLimits, retry: &HttpRetry) -> Arc<HostLimiter> {
        let mut limiters = self.hosts.limiters.lock();
        let host =
            limiters.entry(name.to_owned()).or_insert_with(|| Arc::new(HostLimiter::new(limits, retry)));
        host.add(limits);
        Arc::clone(host)
    }

    pub(super) fn transport(&self) -> Option<Arc<dyn Transport>> {
        self.hosts.transport.clone()
    }

    pub(super) fn has_answered_before(&self) -> bool {
        self.hosts.has_answered_before
    }

    pub(super) fn jitter_seed(&self) -> u64 {
        self.hosts.jitter_seed
    }

    /// Returns the hosts that are not healthy, sorted by name, with their states.
    pub fn unhealthy(&self) -> Vec<(String, HealthState)> {
        let limiters = self.hosts.limiters.lock();
        let states = limiters.iter().map(|(name, host)| (name.clone(), host.health()));
        states.filter(|(_, state)| *state != HealthState::Healthy).collect()
    }
}

impl fmt::Debug for HttpHosts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.hosts.limiters.lock().keys()).finish()
    }
}
