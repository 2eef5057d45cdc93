// An error that is the author's to mend: shown as it is, without a stack.

export class Failure extends Error {}
