/** The command line itself is wrong: exit code 2. */
export class Usage extends Error {}
