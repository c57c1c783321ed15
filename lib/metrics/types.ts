/** A registry of the package prom-client, whose types a host without metrics need not have installed. */
export interface MetricsRegistry {
  /** Adds a metric. */
  registerMetric(metric: never): void
}
