/** The client went away: there is nobody to answer. */
export class ClientGone extends Error {}
