// Stands in for the framework that @adonisjs/session belongs to, with its 180 packages. The store of sessions uses two of its helpers.
/** Wraps a value, so that it is read only with the session ID that it was stored with. */
export class MessageBuilder {
  build(message, _expiresIn, purpose) {
    return JSON.stringify({ message, purpose });
  }

  verify(text, purpose) {
    const { message, purpose: written } = JSON.parse(text);
    return written === purpose ? message : null;
  }
}
