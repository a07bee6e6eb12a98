// The events of a turn as the loop hands them to subscriptions once they are durable.

import OpClusterModel

/// The events of a turn for subscribers.
enum TurnEvents: Sendable {
  case runs([EventRun])
  /// Nobody had subscribed when the turn was decided; a later subscriber reads the journal.
  case inJournal
}
