//! System calls that a confined process can make, limited by a seccomp filter.
//!
//! The filter refuses what a process that only computes never needs. All other calls are allowed, because libraries and
//! drivers differ in the ordinary ones.

use libc::c_long;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter_all_threads, sock_filter,
};
use std::collections::BTreeMap;

/// Calls that are always refused.
const REFUSED: &[c_long] = &[
    // Connections.
    libc::SYS_connect,
    // Programs and other processes.
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    // Memory and messages that are shared with other processes.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    // Attributes of files, which Landlock does not protect.
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    REMOVEXATTRAT,
    // Parts of the kernel that are often attacked, or that reach around other rules.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
];

/// Older forms of refused calls, which only x86-64 has.
#[cfg(target_arch = "x86_64")]
const REFUSED_OLD: &[c_long] = &[
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_OLD: &[c_long] = &[];

/// Calls that are refused if no GPU is used. The CUDA driver may listen at a local socket.
const REFUSED_WITHOUT_GPUS: &[c_long] = &[
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
];

/// Numbers of calls that are the same for every processor, and that libc does not name everywhere.
const FCHMODAT2: c_long = 452;
const SETXATTRAT: c_long = 463;
const REMOVEXATTRAT: c_long = 466;
const CLONE3: u32 = 435;

/// Bit in the numbers of the x32 calls of x86-64, under which every call exists again.
const X32_BIT: u32 = 0x4000_0000;

/// Refuses system calls of this process from now on.
///
/// # Errors
/// Returns the reason why the kernel refuses none.
pub(super) fn refuse(reaches_gpus: bool) -> Result<(), String> {
    let program =
        program(reaches_gpus).map_err(|error| format!("the seccomp filter cannot be built: {error}"))?;
    apply_filter_all_threads(&program)
        .map_err(|error| format!("this kernel does not accept a seccomp filter: {error}"))
}

fn program(reaches_gpus: bool) -> Result<BpfProgram, BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let filter = SeccompFilter::new(rules(reaches_gpus)?, SeccompAction::Allow, refusal(libc::EPERM), arch)?;
    let mut program = Vec::from(first_instructions());
    program.extend(BpfProgram::try_from(filter)?);
    Ok(program)
}

fn refusal(error: i32) -> SeccompAction {
    SeccompAction::Errno(error.unsigned_abs())
}

/// Returns the first instructions of the filter. They refuse x32 calls, and `clone3`, whose flags cannot be inspected:
/// "not implemented" makes the C library use `clone`.
fn first_instructions() -> [sock_filter; 5] {
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    let instruction = |code, skipped_if_false, k| sock_filter { code, jt: 0, jf: skipped_if_false, k };
    [
        instruction(LOAD_NUMBER, 0, 0),
        instruction(JUMP_IF_AT_LEAST, 1, X32_BIT),
        instruction(RETURN, 0, u32::from(refusal(libc::EPERM))),
        instruction(JUMP_IF_EQUAL, 1, CLONE3),
        instruction(RETURN, 0, u32::from(refusal(libc::ENOSYS))),
    ]
}

/// Returns the conditions under which each call is refused; none for those that are always refused.
fn rules(reaches_gpus: bool) -> Result<BTreeMap<c_long, Vec<SeccompRule>>, BackendError> {
    let own_id = u64::from(std::process::id());
    let further: &[c_long] = if reaches_gpus { &[] } else { REFUSED_WITHOUT_GPUS };
    let always = REFUSED.iter().chain(REFUSED_OLD).chain(further);
    let mut rules: BTreeMap<c_long, Vec<SeccompRule>> = always.map(|call| (*call, Vec::new())).collect();
    // Signals reach only this process.
    for call in [libc::SYS_kill, libc::SYS_tgkill] {
        rules.insert(call, vec![rule([(0, SeccompCmpOp::Ne, own_id)])?]);
    }
    // The limits of other processes cannot be set. Zero is this process.
    let other_process = rule([(0, SeccompCmpOp::Ne, 0), (0, SeccompCmpOp::Ne, own_id)])?;
    rules.insert(libc::SYS_prlimit64, vec![other_process]);
    // Only threads can be started, and no processes.
    let threads = u64::from(libc::CLONE_THREAD.unsigned_abs());
    rules.insert(libc::SYS_clone, vec![rule([(0, SeccompCmpOp::MaskedEq(threads), 0)])?]);
    if reaches_gpus {
        // Only local sockets that listen: those for datagrams send without a connection.
        let (unix, datagrams) = (libc::AF_UNIX.unsigned_abs(), libc::SOCK_DGRAM.unsigned_abs());
        let other_family = rule([(0, SeccompCmpOp::Ne, u64::from(unix))])?;
        let datagrams = rule([(1, SeccompCmpOp::MaskedEq(SOCKET_TYPE_MASK), u64::from(datagrams))])?;
        rules.insert(libc::SYS_socket, vec![other_family, datagrams]);
    }
    Ok(rules)
}

/// Bits of a socket's type without its flags.
const SOCKET_TYPE_MASK: u64 = 0xf;

/// Returns a rule that holds if each of these arguments, by its index, compares so with a number.
fn rule<const N: usize>(conditions: [(u8, SeccompCmpOp, u64); N]) -> Result<SeccompRule, BackendError> {
    let conditions = conditions.into_iter().map(|(argument, comparison, value)| {
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, comparison, value)
    });
    SeccompRule::new(conditions.collect::<Result<_, _>>()?)
}
