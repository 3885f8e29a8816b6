/** A load test cannot go on, or its figures would mean nothing. */
export class LoadFailed extends Error {}
