/** An empty function, as reference. */
export const handler = async () => ({ statusCode: 200, body: '[]' });
