//! Shortages of the machine: too little memory, too few file descriptors or threads, a full disk, or a limit on the size
//! of files. A shortage is not a result of a sample. It ends a run, which can be resumed.
//!
//! Code that turns an error into something else, such as a text or the outcome of a sample, reports the shortage first. Reports
//! are kept for the whole process, because its resources are shared. A run watches them. After one, it sends no request, and
//! records only answers that no shortage can have changed.

use std::error::Error;
use std::fmt;
use std::io::{self, ErrorKind};
use std::iter::successors;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A resource that a process can run out of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MachineResource {
    /// Memory, or address space.
    Memory,
    /// File descriptors.
    FileDescriptors,
    /// Threads and processes.
    Threads,
    /// Disk space, or the user's quota.
    DiskSpace,
    /// The size of one file.
    FileSize,
    /// Slots for instances of plugins.
    PluginInstances,
}

impl MachineResource {
    const ALL: [MachineResource; 6] = [
        MachineResource::Memory,
        MachineResource::FileDescriptors,
        MachineResource::Threads,
        MachineResource::DiskSpace,
        MachineResource::FileSize,
        MachineResource::PluginInstances,
    ];

    /// Returns what is short, and the limit that is likely the reason.
    pub const fn sentence(self) -> &'static str {
        match self {
            MachineResource::Memory => {
                "out of memory; the limit on memory or address space is too low (`ulimit -v`, or that of the container)"
            }
            MachineResource::FileDescriptors => {
                "out of file descriptors; the limit on open files is too low (`ulimit -n`)"
            }
            MachineResource::Threads => {
                "out of threads; the limit on threads or on their memory is too low (`ulimit -u`, pids.max of the cgroup, \
                 or `ulimit -v`)"
            }
            MachineResource::DiskSpace => {
                "out of disk space; the disk is full, or the user's quota is used up"
            }
            MachineResource::FileSize => {
                "a file would be too large; the limit on the size of files is too low (`ulimit -f`), or the file system \
                 allows no larger ones"
            }
            MachineResource::PluginInstances => {
                "out of slots for plugin instances; too many threads call plugins (`--autoeval-workers`)"
            }
        }
    }

    /// Returns the resource that an error of the system is about. `EAGAIN` has other meanings too, so it is left to those who
    /// start threads and processes.
    fn of_io(error: &io::Error) -> Option<MachineResource> {
        // These numbers are the same on every Unix. The kind `FileTooLarge` is not enough: this program itself creates
        // such errors, which are not shortages.
        const ENFILE: i32 = 23;
        const EMFILE: i32 = 24;
        const EFBIG: i32 = 27;
        match error.raw_os_error().filter(|_| cfg!(unix)) {
            Some(ENFILE | EMFILE) => Some(MachineResource::FileDescriptors),
            Some(EFBIG) => Some(MachineResource::FileSize),
            _ => MachineResource::of_kind(error.kind()),
        }
    }

    fn of_kind(kind: ErrorKind) -> Option<MachineResource> {
        match kind {
            ErrorKind::OutOfMemory => Some(MachineResource::Memory),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Some(MachineResource::DiskSpace),
            _ => None,
        }
    }
}

/// A shortage of the machine. Its text says what is short, and which limit is likely the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceShortage {
    resource: MachineResource,
    /// What failed, with the error of the system.
    action: Option<String>,
}

impl fmt::Display for ResourceShortage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(action) = &self.action {
            write!(formatter, "{action}: ")?;
        }
        formatter.write_str(self.resource.sentence())
    }
}

impl Error for ResourceShortage {}

impl From<ResourceShortage> for io::Error {
    fn from(shortage: ResourceShortage) -> io::Error {
        io::Error::other(shortage)
    }
}

impl ResourceShortage {
    /// Creates a shortage.
    pub fn new(resource: MachineResource) -> ResourceShortage {
        ResourceShortage { resource, action: None }
    }

    /// Returns what is short.
    pub fn resource(&self) -> MachineResource {
        self.resource
    }

    /// Adds what failed, with the error of the system.
    #[must_use]
    pub fn while_doing(self, action: impl Into<String>) -> ResourceShortage {
        ResourceShortage { action: Some(action.into()), ..self }
    }

    /// Returns the shortage in an error or one of its causes.
    pub fn find(error: &(dyn Error + 'static)) -> Option<ResourceShortage> {
        successors(Some(error), |error| cause_of(*error)).find_map(|error| {
            if let Some(shortage) = error.downcast_ref::<ResourceShortage>() {
                return Some(shortage.clone());
            }
            let of_io = || error.downcast_ref::<io::Error>().and_then(MachineResource::of_io);
            // It hides the I/O error that it was made of.
            let of_json = || {
                let kind =
                    error.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
                kind.and_then(MachineResource::of_kind)
            };
            of_io().or_else(of_json).map(ResourceShortage::new)
        })
    }

    /// Returns the shortage of a failed start of a thread.
    pub(crate) fn of_thread(name: &str, error: &io::Error) -> ResourceShortage {
        let resource = match error.kind() {
            ErrorKind::OutOfMemory => MachineResource::Memory,
            _ => MachineResource::Threads,
        };
        ResourceShortage::new(resource).while_doing(format!("cannot start the thread `{name}`: {error}"))
    }

    /// Returns the shortage of a failed start of a process.
    pub fn of_process(error: &io::Error) -> Option<ResourceShortage> {
        match error.kind() {
            ErrorKind::WouldBlock => Some(ResourceShortage::new(MachineResource::Threads)),
            _ => ResourceShortage::find(error),
        }
    }

    /// Returns the shortage that another process of this program printed.
    pub fn of_output(text: &str) -> Option<ResourceShortage> {
        let resource = MachineResource::ALL.into_iter().find(|one| text.contains(one.sentence()))?;
        Some(ResourceShortage::new(resource))
    }

    /// Returns the shortage in the message of a panic. Some libraries panic if the system refuses a thread, memory or a
    /// file descriptor.
    pub fn of_panic(message: &str) -> Option<ResourceShortage> {
        let code = ["(os error ", "Os { code: "].iter().find_map(|mark| {
            let (_, rest) = message.split_once(mark)?;
            rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
        })?;
        let error = io::Error::from_raw_os_error(code);
        let resource = match error.kind() {
            ErrorKind::WouldBlock if message.contains("thread") => MachineResource::Threads,
            _ => MachineResource::of_io(&error)?,
        };
        Some(ResourceShortage::new(resource).while_doing(message))
    }

    /// Reports the shortage to every [`ShortageWatch`] of this process.
    pub fn report(self) -> ResourceShortage {
        *last_report() = Some(self.clone());
        REPORT_COUNT.fetch_add(1, Ordering::Release);
        self
    }

    /// Reports the shortage in an error or one of its causes, if there is one.
    pub fn report_in(error: &(dyn Error + 'static)) -> Option<ResourceShortage> {
        ResourceShortage::find(error).map(|shortage| match shortage.action {
            Some(_) => shortage.report(),
            None => shortage.while_doing(error.to_string()).report(),
        })
    }
}

/// Returns the cause of an error. An I/O error with another error inside names that one only to those who ask for it.
fn cause_of<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e (dyn Error + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(inner) => Some(inner),
        None => error.source(),
    }
}

/// Number of shortages that were reported in this process.
static REPORT_COUNT: AtomicU64 = AtomicU64::new(0);
/// The last reported shortage.
static LAST_REPORT: Mutex<Option<ResourceShortage>> = Mutex::new(None);

fn last_report() -> MutexGuard<'static, Option<ResourceShortage>> {
    LAST_REPORT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notices the shortages that are reported after its start. The default notices all of this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct ShortageWatch {
    earlier_reports: u64,
}

impl ShortageWatch {
    /// Starts to watch.
    pub fn start() -> ShortageWatch {
        ShortageWatch { earlier_reports: REPORT_COUNT.load(Ordering::Acquire) }
    }

    /// Returns the last shortage that was reported since the start.
    pub fn shortage(&self) -> Option<ResourceShortage> {
        match REPORT_COUNT.load(Ordering::Acquire) == self.earlier_reports {
            true => None,
            false => last_report().clone(),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// An error with a cause.
    #[derive(Debug)]
    struct Outer(Box<dyn Error + Send + Sync>);

    impl fmt::Display for Outer {
        fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("outer")
        }
    }

    impl Error for Outer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&*self.0)
        }
    }

    fn of_system(code: i32) -> io::Error {
        io::Error::from_raw_os_error(code)
    }

    #[test]
    fn errors_of_the_system_name_the_resource() {
        let quota = if cfg!(target_os = "linux") { 122 } else { 69 };
        for (code, expected) in [
            (12, Some(MachineResource::Memory)),
            (23, Some(MachineResource::FileDescriptors)),
            (24, Some(MachineResource::FileDescriptors)),
            (28, Some(MachineResource::DiskSpace)),
            (quota, Some(MachineResource::DiskSpace)),
            (27, Some(MachineResource::FileSize)),
            // Refused permission, no such file, and a lock that another process holds.
            (1, None),
            (2, None),
            (11, None),
        ] {
            let found = ResourceShortage::find(&of_system(code)).map(|shortage| shortage.resource());
            assert_eq!(found, expected, "{code}");
        }
    }

    #[test]
    fn refused_threads_and_processes_are_shortages() {
        let refused = io::Error::from(ErrorKind::WouldBlock);
        let thread = ResourceShortage::of_thread("rows", &refused);
        assert_eq!(thread.resource(), MachineResource::Threads);
        assert!(thread.to_string().starts_with("cannot start the thread `rows`: "), "{thread}");
        assert_eq!(ResourceShortage::of_thread("rows", &of_system(12)).resource(), MachineResource::Memory);
        let process = |error: &io::Error| ResourceShortage::of_process(error).map(|one| one.resource());
        assert_eq!(process(&refused), Some(MachineResource::Threads));
        assert_eq!(process(&of_system(24)), Some(MachineResource::FileDescriptors));
        assert_eq!(process(&of_system(2)), None);
    }

    #[test]
    fn shortages_are_found_in_causes() {
        let nested = |error: io::Error| Outer(Box::new(io::Error::other(Outer(Box::new(error)))));
        let found = ResourceShortage::find(&nested(of_system(24)));
        assert_eq!(found, Some(ResourceShortage::new(MachineResource::FileDescriptors)));
        assert_eq!(ResourceShortage::find(&nested(of_system(2))), None);
        let json = Outer(Box::new(serde_json::Error::io(of_system(28))));
        assert_eq!(ResourceShortage::find(&json), Some(ResourceShortage::new(MachineResource::DiskSpace)));
        let known = ResourceShortage::new(MachineResource::Threads).while_doing("cannot start a thread");
        assert_eq!(ResourceShortage::find(&nested(known.clone().into())), Some(known));
    }

    #[test]
    fn messages_of_panics_name_the_resource() {
        for (message, expected) in [
            #[cfg(target_os = "linux")]
            (
                "OS can't spawn worker thread: Resource temporarily unavailable (os error 11)",
                Some(MachineResource::Threads),
            ),
            (
                "failed to create UnixStream: Os { code: 24, kind: Uncategorized, message: \"Too many open files\" }",
                Some(MachineResource::FileDescriptors),
            ),
            (
                "failed to allocate an alternative stack: Cannot allocate memory (os error 12)",
                Some(MachineResource::Memory),
            ),
            ("called `Option::unwrap()` on a `None` value", None),
            ("cannot read: No such file or directory (os error 2)", None),
        ] {
            let found = ResourceShortage::of_panic(message).map(|shortage| shortage.resource());
            assert_eq!(found, expected, "{message}");
        }
    }

    #[test]
    fn output_of_another_process_names_the_resource() {
        for resource in MachineResource::ALL {
            let shortage = ResourceShortage::new(resource);
            let printed = format!("error: {}\n", shortage.clone().while_doing("cannot compile"));
            assert_eq!(ResourceShortage::of_output(&printed), Some(shortage));
        }
        assert_eq!(ResourceShortage::of_output("error: it is not a component"), None);
    }

    #[test]
    fn watch_notices_reports_after_its_start() {
        let before = ShortageWatch::start();
        assert_eq!(before.shortage(), None);
        assert_eq!(ResourceShortage::report_in(&of_system(2)), None);
        assert_eq!(before.shortage(), None);
        let reported = ResourceShortage::report_in(&Outer(Box::new(of_system(28))));
        let text = reported.as_ref().map(ToString::to_string).unwrap_or_default();
        assert!(text.starts_with("outer: out of disk space; "), "{text}");
        assert_eq!((before.shortage(), ShortageWatch::default().shortage()), (reported.clone(), reported));
        assert_eq!(ShortageWatch::start().shortage(), None);
    }
}
