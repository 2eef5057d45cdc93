//! Shortages of the machine among the errors of the WebAssembly engine.

use gage_core::{MachineResource, ResourceShortage};
use wasmtime::{Error, OutOfMemory, PoolConcurrencyLimitError};

/// Returns the shortage that made an operation of the engine fail. Errors of guests are not shortages.
pub(crate) fn shortage_in(error: &Error) -> Option<ResourceShortage> {
    let found = if error.is::<OutOfMemory>() {
        Some(ResourceShortage::new(MachineResource::Memory))
    } else if is_pool_full(error) {
        Some(ResourceShortage::new(MachineResource::PluginInstances))
    } else {
        error.chain().find_map(|cause| system_error(cause).as_ref().and_then(ResourceShortage::of_process))
    };
    found.map(|shortage| shortage.while_doing(format!("{error:#}")))
}

/// Returns whether the engine found no slot in its pool.
pub(crate) fn is_pool_full(error: &Error) -> bool {
    error.is::<PoolConcurrencyLimitError>()
}

/// Returns the error of the system, if a cause is one.
fn system_error(cause: &(dyn std::error::Error + 'static)) -> Option<std::io::Error> {
    #[cfg(unix)]
    if let Some(error) = cause.downcast_ref::<rustix::io::Errno>() {
        return Some(std::io::Error::from(*error));
    }
    let code = cause.downcast_ref::<std::io::Error>()?.raw_os_error()?;
    Some(std::io::Error::from_raw_os_error(code))
}

/// Returns the text of an error of the engine, and reports the shortage that it names.
pub(crate) fn reported(error: &Error) -> String {
    shortage_in(error).map_or_else(|| format!("{error:#}"), |shortage| shortage.report().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use wasmtime::Trap;

    #[test]
    fn errors_of_the_engine_name_the_resource() {
        let system = |code: i32| Error::from(io::Error::from_raw_os_error(code));
        for (error, expected) in [
            (system(12), Some(MachineResource::Memory)),
            (system(12).context("mmap failed to allocate 0x1000 bytes"), Some(MachineResource::Memory)),
            (system(24).context("failed to open file"), Some(MachineResource::FileDescriptors)),
            (Error::from(io::Error::from(io::ErrorKind::NotFound)), None),
            (system(2), None),
            (Error::from(OutOfMemory::new(64)), Some(MachineResource::Memory)),
            (Error::from(Trap::UnreachableCodeReached), None),
            (Error::msg("Cannot allocate memory (os error 12)"), None),
        ] {
            let found = shortage_in(&error).map(|shortage| shortage.resource());
            assert_eq!(found, expected, "{error:#}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn errors_of_system_calls_name_the_resource() {
        use rustix::io::Errno;
        for (errno, expected) in [
            (Errno::NOMEM, Some(MachineResource::Memory)),
            (Errno::MFILE, Some(MachineResource::FileDescriptors)),
            (Errno::AGAIN, Some(MachineResource::Threads)),
            (Errno::ACCESS, None),
        ] {
            let shortage = shortage_in(&Error::from(errno).context("outer"));
            assert_eq!(shortage.as_ref().map(ResourceShortage::resource), expected, "{errno}");
            if let Some(shortage) = shortage {
                assert!(shortage.to_string().starts_with("outer: "), "{shortage}");
            }
        }
    }
}
