// An error for the author to fix, shown unchanged and without a stack.

export class Failure extends Error {}
