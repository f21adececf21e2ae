// A certified OpenID provider, oidc-provider, as an identity provider and as an authorization server
// of access tokens that are JWTs. Its own development pages ask for a name and for consent.
import Provider from 'oidc-provider';

const [port, clientId, clientSecret, redirectUri, resource] = process.argv.slice(2);
const issuer = `http://localhost:${port}`;
const provider = new Provider(issuer, {
  clients: [
    {
      client_id: clientId,
      client_secret: clientSecret,
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'client_credentials'],
    },
  ],
  claims: { email: ['email', 'email_verified'], openid: ['sub'] },
  scopes: ['openid', 'email', 'full', 'read-only', 'all'],
  pkce: { required: () => true },
  findAccount: async (_context, id) => ({
    accountId: id,
    claims: async () => ({ sub: id, email: `${id}@example.com`, email_verified: id !== 'eve' }),
  }),
  features: {
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resource,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        scope: 'full read-only all',
        audience: resource,
        accessTokenTTL: 300,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: 'ES256' } },
      }),
    },
  },
  jwks: { keys: [JSON.parse(process.env.PROVIDER_KEY), JSON.parse(process.env.PROVIDER_RSA_KEY)] },
  cookies: { keys: ['a key of a test'] },
});
provider.listen(Number(port), '127.0.0.1', () => console.log(issuer));
