// What a header of a request can have. Pure.

/** Whether a key or a token can be sent. What is copied from a document may have spaces, or characters that nobody sees. */
export const isHeaderText = (text: string): boolean => /^[\x21-\x7e]*$/.test(text);

/** What is said where it cannot. */
export const NOT_SENDABLE = "It has a space, or a character that no key has: copy it again.";
