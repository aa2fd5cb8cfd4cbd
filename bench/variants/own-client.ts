import * as z from 'zod/mini';
import { connect, connectionEnvironment } from '../../functions/dynamodb/connection.ts';

/** The client of the functions. */
export const { client } = connect(z.parse(connectionEnvironment, process.env));
